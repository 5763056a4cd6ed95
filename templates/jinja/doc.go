// Package jinja has Jinja templates as Ansible's module template renders them, and the expressions of Ansible's variables
// and conditions.
//
//   - lex.go, parse.go and statements.go read a source; reads.go notes the values that it can read, uses.go
//     the names in its source.
//   - template.go has templates ([Parse]), settle.go values and conditions ([ParseText], [ParseCondition]).
//   - exec.go executes statements, eval.go expressions, call.go calls.
//   - value.go has the values of Python, text.go how they are printed, json.go and yaml.go their other forms.
//   - names.go has the variables, facts.go Ansible's facts, results.go registered results, functions.go functions and lookups.
//   - filters.go has filters of Jinja, ansible.go filters of Ansible, tests.go tests, methods.go methods of values.
//   - format.go, regex.go and random.go have Python's formats, regular expressions and seeded random numbers.
//
// A new filter is a line in the table of filters.go or ansible.go, a new test one in tests.go.
//
// Values are never evaluated: only what a file of the play contains is a template.
package jinja
