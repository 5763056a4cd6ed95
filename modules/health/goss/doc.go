// Package goss reads rules as files of goss have them (https://goss.rocks) and
// compares values with what they expect. It looks at no host: modules/health/judge
// does.
//
// Of goss it leaves out gossfile, matching, templates in rules, and the matchers
// semver-constraint and gjson. On purpose it is stricter: what goss would ignore,
// a kind or an attribute that it does not know, is an error; and commands are
// split at blanks, with shell quoting but without a shell.
package goss
