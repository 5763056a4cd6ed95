// Package footprint shows what ccm-push has left on hosts, and what has become of it when
// it was to be removed: for people ([Report.Text]) or line by line ([Report.JSON]).
//
// Finding and removing it is in transport and playbooks. Nothing that contacts a host may
// come in.
package footprint
