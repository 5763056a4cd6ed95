// Package diag says what is wrong with a template, where, and what to write instead:
// positions, errors with a position ([Error]) and errors that still need one ([Fault]).
// It knows the words of Ansible, Jinja, Helm and Sprig and what does the same here
// ([ForeignFunction], [AnsibleVariable], [JinjaInJet]), and the functions that are
// refused, with the reason ([RefusedFunction]).
//
// No value of a host or of the data may come in: errors are shown to everybody.
package diag
