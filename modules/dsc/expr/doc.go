// Package expr implements the expression language of DSC configuration documents: strings in square brackets, such as
// [concat('a', parameters('b'))].
//
// An expression is evaluated at two times. Parts that depend only on the document, such as parameters, variables, user
// functions and loops, are evaluated where the document is read (playbooks/dsc). Parts that only the host knows, such
// as the state of another resource, remain an expression, which is sent with its [Scope] and is evaluated on the host,
// right before the resource is checked. Values are values at both times: a result is never read as an expression.
//
// The language is DSC v3's (learn.microsoft.com/powershell/dsc, "DSC configuration document functions reference"). It
// has integers of 64 bits, and functions in place of operators. Members of objects have no order here: functions that
// list them sort by name.
//
// Both times are implemented here: tree.go evaluates the strings of a document or of properties, eval.go and call.go
// one expression, with the functions that table.go lists; result.go has the parts that remain for the host, and
// scope.go writes them and evaluates them there. Files and YAML do not belong here; the package does no input or
// output, except through an [Environment].
package expr
