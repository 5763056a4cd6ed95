package templates_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/templates"
	"github.com/ccm-push/ccm-push/templates/diag"
	"github.com/ccm-push/ccm-push/templates/templatetest"
)

// TestForeignFunctions checks that functions of other tools are refused with a hint that names the replacement, in
// every language.
func TestForeignFunctions(t *testing.T) {
	const random = " returns a different text in each run, so its resource never becomes stable\n  hint: "
	for _, c := range []errorCase{
		{"{{ registrations('a') }}", `site.yaml:7:15: "registrations" takes 4 arguments, not 1`},
		{"{{ kvGet }}", "site.yaml:7:15: \"kvGet\" is a function\n  hint: call it: kvGet(…)"},
		{"{{ file(kvGet('a', 'b')) }}", "site.yaml:7:15: file: data from a host cannot choose which file ccm-push reads\n  hint: choose between fixed file names, such as Facts.x == \"y\" ? \"a.conf\" : \"b.conf\""},
		{"{{ htpasswd('a', 'b') }}", "site.yaml:7:15: \"htpasswd\" returns a different text in each run, so its resource never becomes stable\n" +
			"  hint: make the hash once (htpasswd -nB NAME) and write it into the data"},
		{"{{ Data.x | default('y') }}", "site.yaml:7:24: unknown name \"default\" in the expression \"Data.x | default('y')\"\n  hint: write Data.x ?? \"…\""},
		{"{{ Data.x | d('y') }}", "site.yaml:7:24: unknown name \"d\" in the expression \"Data.x | d('y')\"\n  hint: write Data.x ?? \"…\""},
		{"{{ items(Data.x) }}", "site.yaml:7:15: unknown name \"items\" in the expression \"items(Data.x)\"\n  hint: write toPairs(…), or keys(…)"},
		{"{{ Data.x | b64encode }}", "site.yaml:7:33: unexpected end in the expression \"Data.x | b64encode\"\n  hint: write toBase64(…)"},
		{"{{ Data.x | odd }}", "site.yaml:7:27: unexpected end in the expression \"Data.x | odd\"\n  hint: a filter is a function: … | odd()"},
		{"{{ Data.x | to_json() }}", "site.yaml:7:24: unknown name \"to_json\" in the expression \"Data.x | to_json()\"\n  hint: write toJSON(…)"},
		{"{{ Data.x is defined }}", "site.yaml:7:22: unexpected Identifier(\"is\") in the expression \"Data.x is defined\"\n  hint: write … ?? \"…\" for a default, or \"key\" in Data"},
		{"{{ env('HOME') }}", "site.yaml:7:15: unknown name \"env\" in the expression \"env('HOME')\"\n  hint: write Environ.NAME"},
		{"{{ regex_replace(Data.x, 'a', 'b') }}", "site.yaml:7:15: unknown name \"regex_replace\" in the expression \"regex_replace(Data.x, 'a', 'b')\"\n" +
			`  hint: replace(…) takes a literal text; Go templates have the function "regexReplaceAll"`},
		{"{{ hostvars['a'] }}", "site.yaml:7:15: unknown name \"hostvars\" in the expression \"hostvars['a']\"\n  hint: write Hosts[NAME], where NAME is a host of the inventory"},
		{"{{ 'web' in group_names }}", "site.yaml:7:24: unknown name \"group_names\" in the expression \"'web' in group_names\"\n  hint: write Host.groups"},
		{"{{ groups['web'][0] }}", "site.yaml:7:15: unknown name \"groups\" in the expression \"groups['web'][0]\"\n  hint: write Groups"},
		{"{{ ansible_play_hosts }}", "site.yaml:7:15: unknown name \"ansible_play_hosts\" in the expression \"ansible_play_hosts\"\n  hint: write Play.hosts"},
	} {
		t.Run(c.source, func(t *testing.T) {
			_, err := templates.Parse(c.source, templatetest.Manifest)
			require.EqualError(t, err, c.want)
		})
	}
	for _, c := range []errorCase{
		{`[[ file(kvGet("a", "b")) ]]`, "motd.jet:1:4: file: data from a host cannot choose which file ccm-push reads\n  hint: choose between fixed file names, such as Facts.x == \"y\" ? \"a.conf\" : \"b.conf\""},
		{`[[ Data.x | default: "y" ]]`, "motd.jet:1:13: function \"default\" is not defined\n  hint: write lookup(\"data.x\", \"…\")"},
		{`[[ env("HOME") ]]`, "motd.jet:1:4: function \"env\" is not defined\n  hint: write Environ.NAME"},
		{`[[ to_json(Data) ]]`, "motd.jet:1:4: function \"to_json\" is not defined\n  hint: write json(…)"},
		{`[[ items(Data) ]]`, "motd.jet:1:4: function \"items\" is not defined\n  hint: write range key, value := …"},
		{`[[ hostvars("a") ]]`, "motd.jet:1:4: function \"hostvars\" is not defined\n  hint: write Hosts[NAME], where NAME is a host of the inventory"},
		{`[[ inventory_hostname ]]`, "motd.jet:1:4: identifier \"inventory_hostname\" is not defined\n  hint: write Host.name"},
	} {
		t.Run(c.source, func(t *testing.T) {
			_, err := templates.ParseJet(c.source, diag.WholeFile("motd.jet"), templates.Delims{}, nil)
			require.EqualError(t, err, c.want)
		})
	}
	for _, c := range []errorCase{
		{"a\n{{ registrations \"a\" }}", `motd.tmpl:2:4: "registrations" takes 4 arguments, not 1`},
		{`{{ "a" | kvGet "b" | file }}`, "motd.tmpl:1:4: file: data from a host cannot choose which file ccm-push reads\n  hint: choose between fixed file names, such as Facts.x == \"y\" ? \"a.conf\" : \"b.conf\""},
		{`{{ getHostByName "a" }}`, "motd.tmpl:1:4: \"getHostByName\" queries the network of the controller while a template is rendered\n" +
			"  hint: write the address into the data, or read it from a fact of the host"},
		{`{{ randInt 0 60 }}`, "motd.tmpl:1:4: \"randInt\" returns a different number in each run, so its resource never becomes stable\n" +
			"  hint: write the number into the data; for a different number on each host, use a Go template: mod (adler32sum .facts.host.info.hostname) 60"},
		{`{{ .data.x | default uuidv4 }}`, "motd.tmpl:1:22: \"uuidv4\"" + random + "make the text once and write it into the data"},
		{`{{ if false }}{{ randAlphaNum 5 }}{{ end }}`, "motd.tmpl:1:18: \"randAlphaNum\"" + random + "make the text once and write it into the data"},
		{`{{ "ab" | shuffle | upper }}`, "motd.tmpl:1:11: \"shuffle\"" + random + "make the text once and write it into the data"},
		{`{{ encryptAES "key" "text" }}`, "motd.tmpl:1:4: \"encryptAES\"" + random + "encrypt the text once and write the result into the data"},
		{`{{ htpasswd "a" "b" }}`, "motd.tmpl:1:4: \"htpasswd\"" + random + "make the hash once (htpasswd -nB NAME) and write it into the data"},
		{`{{ derivePassword 1 "long" "a" "b" "c" }}`, "motd.tmpl:1:4: \"derivePassword\" takes longer than the time limit for templates\n  hint: write the password into the data"},
		{`{{ (genCA "a" 365).Cert }}`, "motd.tmpl:1:5: \"genCA\" creates a new key or certificate in each run, so its resource never becomes stable\n" +
			`  hint: make it once (openssl req -x509 …) and read it with the function "file"`},
		{`{{ .data.x | b64encode }}`, "motd.tmpl:1:14: function \"b64encode\" is not defined\n  hint: write b64enc"},
		{`{{ .data.x | d "y" }}`, "motd.tmpl:1:14: function \"d\" is not defined\n  hint: write default \"…\""},
		{`{{ toYaml .data }}`, "motd.tmpl:1:4: function \"toYaml\" is not defined\n  hint: write toPrettyJson: JSON is YAML"},
		{`{{ items .data }}`, "motd.tmpl:1:4: function \"items\" is not defined\n  hint: write range $key, $value := …"},
		{`{{ include "a" . }}`, "motd.tmpl:1:4: function \"include\" is not defined\n  hint: write template \"name\" ."},
		{`{{ regex_replace "a" }}`, "motd.tmpl:1:4: function \"regex_replace\" is not defined\n  hint: write regexReplaceAll PATTERN TEXT REPLACEMENT"},
		{`{{ uper .data }}`, "motd.tmpl:1:4: function \"uper\" is not defined\n  hint: did you mean \"upper\"?"},
		{`{{ _ccm_text .data }}`, "motd.tmpl:1:4: function \"_ccm_text\" is not defined\n  hint: use functions of Go's text/template or Sprig, or \"lookup\", \"file\", \"readFile\" or \"jet\""},
	} {
		t.Run(c.source, func(t *testing.T) {
			_, err := templates.ParseGo(c.source, diag.WholeFile("motd.tmpl"), templates.Delims{})
			require.EqualError(t, err, c.want)
		})
	}
}
