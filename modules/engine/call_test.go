package engine

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCall checks the place of a language's package, and that a sensitive one is not shown.
func TestCall(t *testing.T) {
	properties := map[string]any{
		"name": "flask", "ensure": "3.0", "lock_timeout": "2m", "provider": "pip", "virtualenv": "/opt/my app", "break_system_packages": true,
		"options": []string{"--no-index", "--find-links=/srv/wheels"},
	}
	require.Equal(t, "package flask ensure=3.0 break_system_packages=true options=--no-index,--find-links=/srv/wheels provider=pip virtualenv='/opt/my app'",
		call("package", "flask", properties, false))
	require.Equal(t, "package flask ensure=3.0", call("package", "flask", properties, true))
}
