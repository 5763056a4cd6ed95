package start

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/transport"
)

// The forms of words that are looked at without regular expressions, as such.
var forms = map[string]struct {
	expression string
	is         func(string) bool
}{
	"nonce":  {`^[A-Za-z0-9]{8,64}$`, isNonce},
	"digest": {`^[0-9a-f]{64}$`, isDigest},
	"word":   {`^[A-Za-z0-9_./-][A-Za-z0-9_.,:/=@%+-]*$`, transport.IsPlainWord},
}

func FuzzForms(f *testing.F) {
	const digits = "0123456789abcdef0123456789abcdef"
	for _, s := range []string{"", "-", "=a", "%a", "a=b", "a b", "a'b", "a\n", "é", "abcdefg", "abcdefgH", digits, digits + digits, digits + digits + "0", digits + digits[:31] + "A", "linux/amd64:" + digits + ":1:2"} {
		f.Add(s)
	}
	expressions := map[string]*regexp.Regexp{}
	for name, form := range forms {
		expressions[name] = regexp.MustCompile(form.expression)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for name, form := range forms {
			require.Equal(t, expressions[name].MatchString(s), form.is(s), "%s %q", name, s)
		}
	})
}
