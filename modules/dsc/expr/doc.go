// Package expr is the expression language of DSC configuration documents: strings
// in square brackets, such as [concat('a', parameters('b'))].
//
// An expression is evaluated at two times. What a document says by itself, its
// parameters, variables, user functions and loops, is evaluated where the document is
// read (playbooks/dsc). What only the host knows, such as the state of another resource, stays an
// expression, which travels with its [Scope] and is evaluated there, right before
// the resource is checked. Values are values at both times: no result is ever read
// as an expression.
//
// The language is that of DSC v3 (learn.microsoft.com/powershell/dsc, "DSC
// configuration document functions reference"). It has integers of 64 bits, and
// functions in place of operators. Members of objects have no order here: functions
// that list them do it by name.
//
// Both times are here: tree.go evaluates the strings of a document or of properties,
// eval.go and call.go one expression, with the functions that table.go lists; result.go is
// what remains for the host, and scope.go writes that and evaluates it there. Neither
// files nor YAML may come in; the package does no input or output, but through an
// [Environment].
package expr
