// Package report makes reports of a run for machines and for later reading: JUnit XML, Markdown for a comment on a pull
// request, a page of HTML, and metrics for Prometheus.
//
// A [Run] is a reporter that collects the events of a current or a recorded run. Of data that are equal on several
// hosts it keeps one copy and, per host, a number: memory grows with the distinct data. When the run has ended, each
// format is made from the Run; [Files] writes them then.
//
// Texts of hosts must not affect the reader of a report: each format escapes every text, and no text becomes a link, a
// script or markup.
package report
