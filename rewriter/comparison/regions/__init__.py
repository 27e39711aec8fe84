"""Divides what a conversion changed into small models of the original and of the result, which are compared one by one."""
