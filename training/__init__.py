"""Train the reader: data, network, training, report and export. Needs torch, which nothing else here does."""
