package connection

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzArgs checks that any arguments of ssh are refused or become settings of a connection.
func FuzzArgs(f *testing.F) {
	for _, text := range []string{"-o Port=22 -J gate", "-oCiphers=a,b -C -4", "-i k -l me", "-o 'ServerAliveInterval 5'", "-A", "-o ProxyCommand='x'", "-", "'"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		fields, err := parseArgs("args", text)
		if err != nil {
			return
		}
		var p Params
		for _, field := range fields {
			if field.key == "" {
				require.True(t, passedOn(field.option.Name), "%q", field.option.Name)
				require.NoError(t, checkLiteral("", field.option.Value))
				p.addOption(field.option)
				continue
			}
			field.set(&p)
		}
		require.True(t, p.Port >= 0 && p.Port <= 65535)
		require.Empty(t, p.Password+p.BecomePassword)
	})
}
