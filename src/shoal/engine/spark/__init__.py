"""The engine of many machines: Apache Spark moves the rows, our kernels group them."""
