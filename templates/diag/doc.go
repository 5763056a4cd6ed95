// Package diag says what is wrong with a template, where, and what to write instead:
// positions, errors that have one ([Error]), and errors that wait for one ([Fault]). It
// knows what people bring along from Ansible, Jinja, Helm and Sprig, and what does the
// same here ([ForeignFunction], [AnsibleVariable], [JinjaInJet]), and which functions are
// refused, with the reason ([RefusedFunction]).
//
// No value of a host or of the data may come in: errors are shown to everybody.
package diag
