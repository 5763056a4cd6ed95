// Package expression has the expressions of manifests, `{{ … }}` and `${ … }`, in
// the language of github.com/expr-lang/expr, and those of @validate. A missing key
// is an error, all that makes texts longer is bounded, and every round of a loop is a
// step of the run.
//
// A function is one line in functions (functions.go); one that reads what a host
// sent, a file or another template also needs its case in the rewriter.
//
// What is not of the language may not come in: package render knows what a value of the
// host is, and how long an evaluation may take.
package expression
