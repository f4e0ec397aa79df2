"""A server that speaks as S3 does, on this machine, and what it was asked to write."""

import os
from contextlib import contextmanager
from unittest import mock

KEY, SECRET = "AKIAOFNOBODYATALL", "s3-secret/of+nobody"
BUCKET = "lake"
OURS = {
    "AWS_ACCESS_KEY_ID": KEY,
    "AWS_SECRET_ACCESS_KEY": SECRET,
    "AWS_REGION": "us-east-1",
    "AWS_ALLOW_HTTP": "true",
}


class Bucket:
    """What the server holds, seen past Shoal by a client of others.

    Attributes:
        where: the address of the server.
        asked: method and path of every request since it was last emptied.
        refused: paths that the server does not let anybody write.
    """

    def __init__(self, where):
        import boto3

        self.where, self.asked, self.refused = where, [], set()
        self.client = boto3.client(
            "s3",
            endpoint_url=where,
            aws_access_key_id=KEY,
            aws_secret_access_key=SECRET,
            region_name="us-east-1",
        )
        self.client.create_bucket(Bucket=BUCKET)

    def url(self, key):
        return f"s3://{BUCKET}/{key}"

    def put(self, key, data):
        self.client.put_object(Bucket=BUCKET, Key=key, Body=data)
        return self.url(key)

    def get(self, key):
        return self.client.get_object(Bucket=BUCKET, Key=key)["Body"].read()

    def names(self):
        found = self.client.list_objects_v2(Bucket=BUCKET).get("Contents", [])
        return sorted(each["Key"] for each in found)

    def unfinished(self):
        return self.client.list_multipart_uploads(Bucket=BUCKET).get("Uploads", [])


@contextmanager
def s3_server():
    """Runs moto's server while the block runs; the environment says where it is."""
    import threading

    from moto.server import DomainDispatcherApplication, create_backend_app
    from werkzeug.serving import make_server

    app = DomainDispatcherApplication(create_backend_app)
    found = {}

    def watched(environment, start):
        method, path = environment["REQUEST_METHOD"], environment["PATH_INFO"]
        bucket = found.get("bucket")
        if bucket is not None:
            bucket.asked.append((method, path))
            if method in {"PUT", "POST"} and path in bucket.refused:
                start("403 Forbidden", [("Content-Type", "application/xml")])
                return [b"<Error><Code>AccessDenied</Code></Error>"]
        return app(environment, start)

    server = make_server("127.0.0.1", 0, watched, threaded=True)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    where = f"http://127.0.0.1:{server.server_port}"
    try:
        with mock.patch.dict(os.environ, {**OURS, "AWS_ENDPOINT_URL": where}):
            found["bucket"] = Bucket(where)
            yield found["bucket"]
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
