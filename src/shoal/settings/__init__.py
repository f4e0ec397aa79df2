"""What is asked, said once: the table of options, job files, and a job from file to files."""
