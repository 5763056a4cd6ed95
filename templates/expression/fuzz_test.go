package expression_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/templates"
	"github.com/ccm-push/ccm-push/templates/templatetest"
)

func FuzzExpression(f *testing.F) {
	for _, c := range valueCases() {
		f.Add(c.source, "x")
	}
	for _, c := range append(syntaxErrorCases(), evalErrorCases()...) {
		f.Add(c.source, "x")
	}
	for _, payload := range templatetest.Payloads() {
		f.Add("{{ Facts.evil }}", payload)
		f.Add(payload, payload)
	}
	f.Fuzz(func(t *testing.T, source, value string) {
		if expr, err := templates.ParseExpr(source, templatetest.Manifest); err == nil {
			_, err = expr.Bool(templatetest.Expiring(t.Context(), 2000), templatetest.HostileHost(value))
			templatetest.CheckFuzzed(t, source, value, nil, err)
		} else {
			templatetest.CheckFuzzed(t, source, value, nil, err)
		}
		text, err := templates.Parse(source, templatetest.Manifest)
		if err != nil {
			templatetest.CheckFuzzed(t, source, value, nil, err)
			return
		}
		text.Facts(nil)
		env := templatetest.HostileHost(value)
		out, err := text.Eval(templatetest.Expiring(t.Context(), 2000), env)
		templatetest.CheckFuzzed(t, source, value, out, err)
		if !templates.HasExpr(source) {
			require.Equal(t, source, out)
		}
	})
}
