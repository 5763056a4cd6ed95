// Package goss reads rules as files of goss have them (https://goss.rocks) and
// compares values with what they expect. It looks at no host: modules/health/judge
// does.
//
// It lacks templates in rules, the matcher xml, and the kinds for Windows. The controller
// reads the files of gossfile with the manifest. On purpose it is stricter: what goss would ignore,
// a kind or an attribute that it does not know, is an error; and commands are
// split at blanks, with shell quoting but without a shell.
package goss
