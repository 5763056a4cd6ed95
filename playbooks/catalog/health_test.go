package catalog

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestHealthChecks uses expressions in the keys of rules, which name the checked values.
func TestHealthChecks(t *testing.T) {
	checks := func(text string) (string, error) {
		compiled, err := compiler(t, play("- exec: [a: {health_checks: "+text+"}]"), nil, Options{}).Compile(t.Context(), web1)
		if err != nil {
			return "", err
		}
		require.Len(t, compiled.Catalog.Entries[0].Health, 1)
		return string(compiled.Catalog.Entries[0].Health[0].Rules), nil
	}
	for text, want := range map[string]string{
		`[goss_rules: {http: {"http://127.0.0.1:{{ Data.n }}/": {status: 200}}}]`:       `{"http":{"http://127.0.0.1:5/":{"status":200}}}`,
		`[goss_rules: {"{{ 'file' }}": {"/{{ Facts.os }}": {"{{ 'exists' }}": true}}}]`: `{"file":{"/linux":{"exists":true}}}`,
		`[goss_rules: {file: {"{{ Facts.evil }}": {exists: "{{ Data.yes }}"}}}]`:        `{"file":{"{{ 7*7 }}":{"exists":true}}}`,
	} {
		rules, err := checks(text)
		require.NoError(t, err, text)
		require.Equal(t, want, rules)
	}
	for text, want := range map[string]string{
		`[goss_rules: {file: {"/{{ Data.n }}": {exists: true}, /5: {exists: true}}}]`:         `site.yaml:4:87: two keys evaluate to "/5" (value of the variable "n", set at site.yaml:1:22)`,
		`[goss_rules: {"{{ Facts.os }}": {x: {exists: true}}}]`:                               "site.yaml:4:46: goss_rules: unknown kind of rules \"linux\"\n  hint: known kinds: addr, command, dns, file, group, http, interface, kernel-param, matching, mount, package, port, process, service, user",
		`[{goss_rules: {file: {"/{{ Data.nope }}": {exists: true}}}, command: "x", name: a}]`: "site.yaml:4:65: missing key \"Data.nope\"" + nopeHint,
	} {
		_, err := checks(text)
		require.EqualError(t, err, want, text)
	}
}
