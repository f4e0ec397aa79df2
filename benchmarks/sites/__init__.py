"""One release of rows that several sites hold, against the pooled release and each site alone."""
