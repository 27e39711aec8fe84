"""The style sheet of the report page: light or dark by the reader's system settings, for narrow and wide screens, and for paper."""

LIGHT = """
  --page: #f4f5f8; --card: #ffffff; --line: #d9dee7; --text: #1b2330; --muted: #566072; --accent: #2b59c3;
  --good: #14693f; --good-back: #e2f4ea; --bad: #a8231b; --bad-back: #fdebe9; --note: #7a4d00; --note-back: #fff3d9;
  --old: #f3eefb; --old-line: #8a6bc4; --new: #e5f1ff; --new-line: #3f7fd0; --pill: #f4f5f8; --pill-line: #a9b2c1;
  --fixed: #fff6e2; --fixed-line: #c79a3a; --edge: #7b8698;
  --sans: system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif;
  --mono: ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", "Liberation Mono", monospace;
"""
"""Colours on a light background, and fonts, as CSS custom properties."""
DARK = """
  --page: #10141a; --card: #181e27; --line: #303947; --text: #e6eaf0; --muted: #a4aebd; --accent: #8fb5ff;
  --good: #6fd8a0; --good-back: #14301f; --bad: #ff9d93; --bad-back: #3a1715; --note: #f2c469; --note-back: #352809;
  --old: #2a2338; --old-line: #a98ae0; --new: #16283f; --new-line: #6aa5ee; --pill: #202733; --pill-line: #5b6678;
  --fixed: #33290f; --fixed-line: #b98d35; --edge: #8a95a7;
"""
"""The same colours on a dark background."""
DRAWINGS = """
.panels { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 420px), 1fr)); gap: 1px;
  background: var(--line); border-top: 1px solid var(--line); }
.panels.stacked { grid-template-columns: minmax(0, 1fr); }
.panels figure { margin: 0; background: var(--card); padding: 10px 18px 18px; min-width: 0; display: flex; flex-direction: column; }
.panels figcaption { font-size: 11.5px; font-weight: 650; letter-spacing: 0.08em; text-transform: uppercase; color: var(--muted);
  margin-bottom: 6px; }
.scroll { overflow-x: auto; margin: auto 0; }
.scroll.large { max-height: 70vh; overflow-y: auto; }
.scroll svg { display: block; margin: 0 auto; }
.nothing { margin: auto; color: var(--muted); padding: 18px 0; text-align: center; }
.graph { font-family: var(--mono); }
.graph text { text-anchor: middle; fill: var(--text); unicode-bidi: isolate; }
.graph .name { font-size: 13px; }
.graph .op .name { font-weight: 650; }
.graph .small { font-size: 11px; fill: var(--muted); }
.graph rect { stroke-width: 1.25; }
.graph .value rect { fill: var(--pill); stroke: var(--pill-line); }
.graph .constant rect { fill: var(--fixed); stroke: var(--fixed-line); }
.before .op rect { fill: var(--old); stroke: var(--old-line); }
.after .op rect { fill: var(--new); stroke: var(--new-line); }
.edge path { fill: none; stroke: var(--edge); stroke-width: 1.4; }
.edge .head { fill: var(--edge); stroke: none; }
"""
"""The styles for drawings of rewrites. Any page that defines the custom properties can use them."""
STYLE = f"""
:root {{ color-scheme: light dark; {LIGHT} }}
@media (prefers-color-scheme: dark) {{ :root {{ {DARK} }} }}
{DRAWINGS}
"""
STYLE += """
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--text); font: 15px/1.55 var(--sans); overflow-wrap: anywhere; }
main, header > div, footer { max-width: 1080px; margin: 0 auto; padding: 0 20px; }
header { background: var(--card); border-bottom: 1px solid var(--line); border-top: 5px solid var(--good); padding: 30px 0 22px; }
header.bad { border-top-color: var(--bad); }
.status { display: inline-flex; align-items: center; gap: 8px; font-weight: 650; font-size: 13px; padding: 3px 12px 3px 9px;
  border-radius: 99px; color: var(--good); background: var(--good-back); }
.bad .status { color: var(--bad); background: var(--bad-back); }
h1 { font-size: clamp(24px, 4.5vw, 34px); line-height: 1.2; letter-spacing: -0.015em; margin: 12px 0 6px; font-weight: 700; }
h2 { font-size: 20px; letter-spacing: -0.01em; margin: 40px 0 4px; }
h3 { font-size: 15px; margin: 0; }
p { margin: 6px 0; }
.lead, .note { color: var(--muted); }
.lead { font-size: 16px; max-width: 46em; }
.message { margin: 14px 0 0; padding: 12px 16px; border-radius: 10px; background: var(--bad-back); color: var(--text);
  border-left: 4px solid var(--bad); font: 13px/1.55 var(--mono); white-space: pre-wrap; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(150px, 1fr)); gap: 12px; margin: 22px 0 0; padding: 0; }
.tiles div { border: 1px solid var(--line); border-radius: 12px; padding: 11px 15px; background: var(--page); }
dt { color: var(--muted); font-size: 12.5px; }
dd { margin: 0; }
.tiles dd { font-weight: 650; font-size: 18px; line-height: 1.35; }
.tiles small { display: block; font-weight: 400; font-size: 12.5px; color: var(--muted); }
nav { display: flex; flex-wrap: wrap; gap: 6px 18px; margin: 18px 0 0; font-size: 14px; }
a { color: var(--accent); }
code, .mono { font-family: var(--mono); font-size: 0.88em; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 14px; margin: 14px 0; overflow: hidden; }
.card > .top { display: flex; flex-wrap: wrap; align-items: baseline; gap: 2px 14px; padding: 13px 18px 9px; }
.count { color: var(--muted); font-size: 13.5px; }
details { border-top: 1px solid var(--line); padding: 9px 18px; font-size: 14px; }
details.plain { border: 0; padding: 6px 0; }
summary { cursor: pointer; color: var(--accent); }
pre { font: 12.5px/1.6 var(--mono); white-space: pre-wrap; margin: 8px 0; }
ul.names { columns: 260px; padding-left: 18px; margin: 8px 0; font-size: 13px; }
.table { overflow-x: auto; background: var(--card); border: 1px solid var(--line); border-radius: 14px; margin: 12px 0; }
.table:focus-visible, .scroll:focus-visible, summary:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
table { border-collapse: collapse; width: 100%; font-size: 14px; overflow-wrap: normal; }
th, td { text-align: left; padding: 8px 16px; vertical-align: top; border-top: 1px solid var(--line); }
thead th { border-top: 0; font-size: 12.5px; color: var(--muted); font-weight: 600; white-space: nowrap; }
tbody th { font-weight: 550; min-width: 8em; overflow-wrap: anywhere; }
td.text { min-width: 15em; overflow-wrap: anywhere; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.tag { display: inline-block; padding: 1px 9px; border-radius: 99px; font-size: 12.5px; font-weight: 600; white-space: nowrap;
  color: var(--muted); background: var(--page); }
.tag.good { color: var(--good); background: var(--good-back); }
.tag.bad { color: var(--bad); background: var(--bad-back); }
.tag.note { color: var(--note); background: var(--note-back); }
.hint { display: block; margin-top: 3px; color: var(--muted); }
.scale { display: grid; grid-template-columns: repeat(auto-fill, minmax(28px, 1fr)); gap: 3px; margin: 14px 0 6px; padding: 0;
  list-style: none; }
.scale li { text-align: center; padding: 5px 0; border-radius: 5px; font-size: 12.5px; color: var(--muted);
  background: var(--card); border: 1px solid var(--line); font-variant-numeric: tabular-nums; }
.scale .within { background: var(--good-back); color: var(--good); border-color: transparent; font-weight: 600; }
.scale .here, .scale .asked { outline: 2px solid var(--accent); outline-offset: 1px; }
footer { color: var(--muted); font-size: 13px; padding-top: 26px; padding-bottom: 48px; }
footer dl { display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: 3px 16px; border-top: 1px solid var(--line);
  padding-top: 18px; }
@media (max-width: 560px) {
  main, header > div, footer { padding-left: 14px; padding-right: 14px; }
  .panels figure { padding-left: 10px; padding-right: 10px; }
  .tiles { grid-template-columns: repeat(auto-fit, minmax(132px, 1fr)); }
  th, td { padding: 7px 11px; }
}
@media print {
  body { background: none; font-size: 11pt; }
  header { padding-top: 8px; }
  nav { display: none; }
  .card, tr { break-inside: avoid; }
  .scroll.large { max-height: none; }
  .scroll svg { max-width: 100%; height: auto; }
}
"""
