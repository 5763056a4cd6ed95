// Package forecast says what a host will be once plans have been carried out.
//
// A [Forecast] takes the effects of plans and answers reads on top of the real host,
// through the [modules.Host] that [Forecast.Host] gives. A [Prediction] is filled in
// along the way: on which resource an answer depends that cannot be known beforehand,
// and in a graph the read set, from which [Forecast.Conflicts] finds the entries that
// may run before the reader and change what it has read.
//
// What does not come in: results, the order of entries, and anything that changes the
// host.
package forecast
