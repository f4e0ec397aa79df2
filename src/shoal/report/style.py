"""How the report looks: on a wide screen, on a phone and on paper."""

from __future__ import annotations

__all__ = ["STYLE"]

# Shades of the heat map, light to dark in equal steps of lightness, so that grey is enough.
_SHADES = (
    "#f1f6f7", "#d9e9ec", "#bfdbe0", "#a3ccd3", "#85bbc5",
    "#2f8493", "#1f7484", "#136375", "#0a5062", "#053c4c",
)  # fmt: skip

STYLE = (
    """
:root { color-scheme: light; --ink: #14212b; --soft: #52626d; --paper: #f5f8f9; --card: #fff;
  --line: #d8e1e5; --bar: #0b6e7f; --mid: #8fc3cc; --pale: #e8eff1; --good: #146c43;
  --good-paper: #e9f6ef; --bad: #a3211a; --bad-paper: #fdeeed; --note-paper: #fff8e6;
  --open: #8a5a00;  --link: #0a5f6e; --edge: #52626d; --on-mark: #fff; }
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; scroll-behavior: smooth; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif;
  overflow-wrap: break-word; }
header, main, footer { max-width: 66rem; margin: 0 auto; padding: 0 1.25rem; }
header { padding-top: 2.5rem; }
h1 { font-size: 1.9rem; line-height: 1.2; margin: 0 0 .3rem; letter-spacing: -.01em; }
h2 { font-size: 1.35rem; line-height: 1.3; margin: 3rem 0 .6rem; }
h3 { font-size: 1.02rem; margin: 0 0 .5rem; overflow-wrap: anywhere; }
p { margin: .4rem 0 .8rem; max-width: 46rem; }
a { color: var(--link); }
.soft, .note, footer, figcaption { color: var(--soft); font-size: .9rem; }
nav { margin: 1.25rem 0 0; } nav ul { list-style: none; margin: 0; padding: 0; display: flex;
  flex-wrap: wrap; gap: .4rem; }
nav a { display: block; padding: .25rem .7rem; border: 1px solid var(--line); border-radius: 99px;
  background: var(--card); text-decoration: none; font-size: .88rem; }
.verdict { display: flex; gap: 1rem; align-items: flex-start; border: 1px solid var(--good);
  background: var(--good-paper); border-radius: 12px; padding: 1rem 1.25rem; margin: 1.25rem 0; }
.verdict.red { border-color: var(--bad); background: var(--bad-paper); }
.verdict.amber { border-color: var(--open); background: var(--note-paper); }
.verdict .mark { flex: none; width: 2.4rem; height: 2.4rem; border-radius: 50%;
  color: var(--on-mark); background: var(--good); font-size: 1.4rem; line-height: 2.4rem;
  text-align: center; }
.verdict.red .mark { background: var(--bad); } .verdict.amber .mark { background: var(--open); }
.verdict ul { margin: .4rem 0; padding-left: 1.1rem; }
.verdict strong { font-size: 1.15rem; } .verdict p { margin: .15rem 0 0; }
.grid { display: grid; gap: 1rem; grid-template-columns: repeat(auto-fit, minmax(min(100%, 26rem),
  1fr)); }
.grid.ragged { align-items: start; }
.grid.three { grid-template-columns: repeat(auto-fit, minmax(min(100%, 18rem), 1fr)); }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 12px;
  padding: 1.1rem 1.25rem; margin: 0; min-width: 0; }
.card + .card { margin-top: 1rem; } .grid > .card { margin-top: 0; }
.card p:last-child, .card figcaption { margin-bottom: 0; }
figcaption { margin-top: .5rem; }
dl.about { columns: auto; display: grid; gap: .2rem 1.2rem; margin: .6rem 0 0; }
dl.about div { display: grid; grid-template-columns: 5rem 1fr; margin: 0; }
dl.about dt { color: var(--soft); } dl.about dd { margin: 0; overflow-wrap: anywhere; }
.lines { display: grid; gap: 0 1.5rem; margin: 1rem 0;
  grid-template-columns: repeat(auto-fit, minmax(min(100%, 13rem), 1fr)); }
.lines .line { display: block; height: 3.2rem; border-bottom: 1px solid var(--ink); }
.lines .soft { font-size: .85rem; }
.facts { display: grid; gap: .75rem; margin: 1rem 0;
  grid-template-columns: repeat(auto-fit, minmax(9.5rem, 1fr)); }
.facts div { background: var(--card); border: 1px solid var(--line); border-radius: 12px;
  padding: .8rem 1rem; }
.facts b { display: block; font-size: 1.35rem; line-height: 1.25; }
.facts span { color: var(--soft); font-size: .87rem; }
.warning { background: var(--note-paper); border: 1px solid #c9a227; border-radius: 12px;
  padding: .8rem 1.1rem; margin: 1rem 0; } .warning ul { margin: .3rem 0 0; }
ul.plain { margin: 0; padding-left: 1.1rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .93rem; }
caption { text-align: left; color: var(--soft); font-size: .88rem; padding-bottom: .4rem; }
th, td { text-align: left; vertical-align: top; padding: .45rem .6rem .45rem 0;
  border-bottom: 1px solid var(--line); }
thead th.number { white-space: normal; }
thead th { font-size: .82rem; color: var(--soft); font-weight: 600; }
tbody th { font-weight: 600; } tr:last-child > * { border-bottom: 0; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums;
  white-space: nowrap; padding-right: 0; padding-left: .6rem; }
th.number.wrap { white-space: normal; min-width: 4.5rem; vertical-align: bottom; }
.holds { color: var(--good); font-weight: 600; } .broken-word { color: var(--bad);
  font-weight: 700; }
code { font: .85em ui-monospace, "DejaVu Sans Mono", monospace; word-break: break-all; }
dl { margin: 0; columns: 2 20rem; column-gap: 2rem; } dl div { break-inside: avoid;
  margin-bottom: .9rem; } dt { font-weight: 600; } dd { margin: .1rem 0 0; }
.legend { display: flex; flex-wrap: wrap; gap: .2rem 1rem; font-size: .87rem; margin: .3rem 0 .8rem;
  color: var(--soft); } .legend i { display: inline-block; width: .9rem; height: .9rem;
  border-radius: 3px; vertical-align: -2px; margin-right: .35rem; border: 1px solid var(--edge); }
i.bar { background: var(--bar); } i.mid { background: var(--mid); } i.was, i.pale {
  background: var(--pale); }
svg { display: block; overflow: visible; font-size: 12.5px; } svg svg { overflow: hidden; }
svg text { fill: var(--ink); } svg .soft { fill: var(--soft); font-size: 12px; }
svg .number { font-variant-numeric: tabular-nums; }
svg .bar { fill: var(--bar); } svg .track { fill: var(--pale); }
svg .was, svg .pale { fill: var(--pale); stroke: var(--edge); stroke-width: .8; }
svg .mid { fill: var(--mid); } svg .axis { stroke: var(--edge); }
svg .light { fill: #fff; font-size: 11px; } svg .dark { fill: #14212b; font-size: 11px; }
footer { margin-top: 3rem; padding-top: 1rem; padding-bottom: 3rem; }
@media (max-width: 34rem) { header, main, footer { padding-left: .9rem; padding-right: .9rem; }
  header { padding-top: 1.5rem; } h1 { font-size: 1.55rem; } h2 { margin-top: 2.2rem; }
  .card { padding: .9rem; } .facts { grid-template-columns: 1fr 1fr; } }
@media print { @page { margin: 14mm; } body { background: #fff; font-size: 9.5pt; }
  header, main, footer { max-width: none; padding: 0; } header { padding-top: 0; }
  nav { display: none; } p { max-width: none; orphans: 3; widows: 3; }
  .grid { grid-template-columns: 1fr 1fr; gap: .6rem; }
  .grid.three { grid-template-columns: 1fr 1fr 1fr; }
  .grid.ragged { display: block; columns: 2; column-gap: .6rem; }
  .grid.tables { display: block; } .grid.tables > .card { margin-bottom: .6rem; }
  .lines { grid-template-columns: 1fr 1fr 1fr; }
  .grid.ragged > .card { margin-bottom: .6rem; }
  .facts { grid-template-columns: repeat(3, 1fr); gap: .5rem; } dl { columns: 2; }
  h1 { font-size: 1.6rem; } h2 { margin: 1.3rem 0 .4rem; font-size: 1.2rem; }
  .card { padding: .7rem .8rem; -webkit-box-decoration-break: clone; box-decoration-break: clone; }
  table, .note, figcaption { font-size: .86rem; } th, td { padding-top: .25rem;
  padding-bottom: .25rem; overflow-wrap: anywhere; } th.number.wrap { min-width: 3.6rem; }
  tbody th { min-width: 10rem; }
  footer { margin-top: 1rem; padding-bottom: 0; }
  h2, h3, thead { break-after: avoid; } .scroll { overflow: visible; }
  figure, tr, li, .facts div, .verdict, .signing, dl div { break-inside: avoid; }
  * { -webkit-print-color-adjust: exact; print-color-adjust: exact; } }
@media screen and (prefers-color-scheme: dark) {
  :root { color-scheme: dark; --ink: #e4edf0; --soft: #a3b4bd; --paper: #10191f; --card: #18242b;
  --line: #324550; --bar: #45b3c4; --mid: #2b6b78; --pale: #24343d; --good: #5fce97;
  --good-paper: #12291f; --bad: #ff8a80; --bad-paper: #351a18; --note-paper: #302809;
  --open: #ffc44d;  --link: #7fd0dd; --edge: #a3b4bd; --on-mark: #10191f; } }
"""
    + "\n".join(f"svg .h{number} {{ fill: {shade}; }}" for number, shade in enumerate(_SHADES))
    + "\n"
)
