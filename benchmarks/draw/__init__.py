"""The one place that draws: tables as Markdown, figures as SVG."""
