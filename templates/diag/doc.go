// Package diag describes errors in templates and how to fix them: positions, errors with a position ([Error]) and
// errors that still need one ([Fault]). It knows the words of Ansible, Jinja, Helm and Sprig and their equivalents here
// ([ForeignFunction], [AnsibleVariable], [JinjaInJet]), and the functions that are refused, with the reason
// ([RefusedFunction]).
//
// Values of hosts or of the data must not be in errors, since everyone can see errors.
package diag
