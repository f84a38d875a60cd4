"""The data: folders of data sets, where the sets come from, and streams that are made here."""
