// Package modtest is the suite that every resource type passes, on real files
// and with real commands: [Converges] for one resource in one situation,
// [Predicts] for catalogs, where check runs are held against the runs that
// follow them.
package modtest
