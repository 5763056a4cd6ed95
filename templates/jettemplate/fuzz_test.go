package jettemplate_test

import (
	"testing"

	"github.com/ccm-push/ccm-push/templates"
	"github.com/ccm-push/ccm-push/templates/diag"
	"github.com/ccm-push/ccm-push/templates/templatetest"
)

func FuzzJet(f *testing.F) {
	for _, c := range append(jetCases(), jetErrorCases()...) {
		f.Add(c.source, "x")
	}
	for _, c := range jetSyntaxCases() {
		f.Add(c.source[:min(len(c.source), 100)], "x")
	}
	for _, payload := range templatetest.Payloads() {
		f.Add("[[ Facts.evil ]]", payload)
		f.Add(payload, payload)
	}
	f.Fuzz(func(t *testing.T, source, value string) {
		tmpl, err := templates.ParseJet(source, diag.WholeFile("fuzz.jet"), templates.Delims{}, nil)
		if err != nil {
			templatetest.CheckFuzzed(t, source, value, nil, err)
			return
		}
		tmpl.Facts(nil)
		out, err := tmpl.Render(templatetest.Expiring(t.Context(), 2000), templatetest.HostileHost(value))
		templatetest.CheckFuzzed(t, source, value, out, err)
	})
}
