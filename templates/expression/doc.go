// Package expression implements the expressions of manifests, `{{ … }}` and `${ … }`, in the language of
// github.com/expr-lang/expr, and the expressions of @validate. A missing key is an error, every operation that makes
// texts longer is limited, and every round of a loop is a step of the run.
//
// A function is one line in functions (functions.go); one that reads a value from a host, a file or another template
// also needs its case in the rewriter.
//
// Only code of the language belongs here: package render decides which values come from the host, and limits the time
// for an evaluation.
package expression
