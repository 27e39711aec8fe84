"""Reports on a conversion and on a run of many, in the formats of the table `FORMATS`."""
