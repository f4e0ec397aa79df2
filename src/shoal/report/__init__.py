"""What a release tells about itself: certificate, HTML page, scores of a published file."""
