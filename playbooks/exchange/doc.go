// Package exchange carries values from resources of one host to those of others: exports
// to imports. [Run.Check] says before a run which imports could never be satisfied; an
// [Exchange] hands the values on during it.
//
// It knows plays, hosts and catalogs. How a host is reached, talked to and queued stays
// out: a [Participant] is asked and told by the session of its host.
package exchange
