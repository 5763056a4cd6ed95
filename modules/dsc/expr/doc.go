// Package expr is the expression language of DSC configuration documents: strings
// in square brackets, such as [concat('a', parameters('b'))].
//
// An expression is evaluated at two times. What a document says by itself, its
// parameters, variables, user functions and loops, is folded where the document is
// read. What only the host knows, such as the state of another resource, stays an
// expression, which travels with its [Scope] and is evaluated there, right before
// the resource is checked. Values are values at both times: no result is ever read
// as an expression.
//
// The language is that of DSC v3 (learn.microsoft.com/powershell/dsc, "DSC
// configuration document functions reference"). It has integers of 64 bits, and
// functions in place of operators. Members of objects have no order here: functions
// that list them do it by name.
//
// The package does no input or output, but through an [Environment].
package expr
