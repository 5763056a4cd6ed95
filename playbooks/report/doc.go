// Package report makes reports of a run for machines and for afterwards: JUnit XML, Markdown
// for a comment on a pull request, a page of HTML, and metrics for Prometheus.
//
// A [Run] is a reporter that collects events, those of a run under way or recorded ones. Of what
// is equal on several hosts it keeps one copy and, per host, a number: memory grows with what is
// distinct. From the Run each format is made when the run has ended; [Files] writes them then.
//
// What hosts say may not act on whoever reads a report: every text goes through the escaping of
// its format, and nothing of it is a link, a script or markup.
package report
