// Package goss reads rules in the format of goss files (https://goss.rocks) and compares values with the expected ones.
// It does not read the host: modules/health/judge does.
//
// It lacks templates in rules, the matcher xml, and the kinds for Windows. The controller reads the files of gossfile
// with the manifest. It is stricter by intention: a kind or an attribute that it does not know is an error, although
// goss would ignore it; and commands are split at blanks, with shell quoting but without a shell.
package goss
