package service_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/service"
)

func TestValidate(t *testing.T) {
	const allowed = ` (allowed: alphanumeric, ._+:~-@ and escapes such as \x2d)`
	types := modules.Registry{service.Type()}
	for _, tc := range []struct{ properties, err string }{
		{`{"name":"nginx"}`, ""},
		{`{"name":"app@1.service","ensure":"stopped","enable":false,"provider":"systemd","timeout":"5m"}`, ""},
		{`{"name":"my_app+2:x~y-z.timer","masked":false,"reload":true}`, ""},
		{`{"name":"dev-disk\\x2dby.mount"}`, ""},
		{`{"name":"a","ensure":"stopped","masked":true,"enable":false}`, ""},
		{`{}`, `name: name is required`},
		{`{"name":"a;b"}`, `name: service name contains dangerous characters: "a;b"`},
		{`{"name":"$(a)"}`, `name: service name contains dangerous characters: "$(a)"`},
		{`{"name":"a*"}`, `name: service name contains dangerous characters: "a*"`},
		{`{"name":"a b"}`, `name: service name contains invalid characters: "a b"` + allowed},
		{`{"name":"a/b"}`, `name: service name contains invalid characters: "a/b"` + allowed},
		{`{"name":"a\\b"}`, `name: service name contains invalid characters: "a\\b"` + allowed},
		{`{"name":"ä"}`, `name: service name contains invalid characters: "ä"` + allowed},
		{`{"name":".."}`, `name: ".." is not a service name`},
		{`{"name":"app@"}`, `name: app@ is a systemd template, which needs an instance name (add an instance name, such as app@1)`},
		{`{"name":"app@.service"}`, `name: app@.service is a systemd template, which needs an instance name (add an instance name, such as app@1)`},
		{`{"name":"` + strings.Repeat("a", 256) + `"}`, `name: service name has 256 characters, and at most 255 are possible`},
		{`{"name":"a","ensure":"present"}`, `ensure: "present" is not one of "running", "stopped"`},
		{`{"name":"a","provider":"upstart"}`, `provider: "upstart" is not one of "systemd", "openrc"`},
		{`{"name":"a","timeout":"soon"}`, `timeout: invalid timeout "soon" (write a duration from 1s to 24h, such as 30s or 5m)`},
		{`{"name":"a","timeout":"0s"}`, `timeout: invalid timeout "0s" (write a duration from 1s to 24h, such as 30s or 5m)`},
		{`{"name":"a","timeout":"25h"}`, `timeout: invalid timeout "25h" (write a duration from 1s to 24h, such as 30s or 5m)`},
		{`{"name":"a","masked":true}`, `masked: a masked service cannot run (write ensure: stopped)`},
		{`{"name":"a","masked":true,"ensure":"stopped","enable":true}`, `masked: a masked service cannot be enabled (remove "enable")`},
		{`{"name":"a","masked":false,"provider":"openrc"}`, `masked: OpenRC has no masked services`},
		{`{"name":"a","action":"reloaded"}`, ""},
		{`{"name":"a","action":"restarted","ensure":"stopped"}`, `action: a service that is restarted cannot stay stopped`},
		{`{"name":"a","action":"started"}`, `action: "started" is not one of "restart", "reload", "start", "stop", "restarted", "reloaded"`},
		{`{"name":"a","action":"restart"}`, ""},
		{`{"name":"a","action":"stop"}`, `action: "action: stop" is for events (write ensure: stopped, or add refreshonly: true)`},
		{`{"name":"a","action":"start"}`, `action: "action: start" is for events (write ensure: running, or add refreshonly: true)`},
		{`{"name":"a","action":"stop","refreshonly":true}`, ""},
		{`{"name":"a","refresh_only":true}`, ""},
		{`{"name":"a","enabled":true}`, `json: unknown field "enabled"`},
	} {
		_, err := types.Decode("service", []byte(tc.properties))
		if tc.err == "" {
			require.NoError(t, err, tc.properties)
			continue
		}
		require.EqualError(t, err, tc.err)
	}
}
