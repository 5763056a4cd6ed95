package user

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules/accounts/accountstest"
)

// TestExpiresInZones sets days on hosts in several time zones: shadow(5) counts days of UTC.
func TestExpiresInZones(t *testing.T) { accountstest.Private(t, expiresInZones) }

func expiresInZones(t *testing.T) {
	for _, zone := range []string{"Etc/UTC", "Pacific/Auckland", "Pacific/Tongatapu", "Pacific/Kiritimati", "Etc/GMT+12", "Europe/Berlin"} {
		file := filepath.Join("/usr/share/zoneinfo", zone)
		if _, err := os.Stat(file); err != nil {
			t.Skipf("NOT TESTED: %v (install tzdata)", err)
		}
		for day, days := range map[string]string{"2030-12-31": "22279", "2031-07-01": "22461"} {
			for _, name := range []string{"bob", "app"} {
				accountstest.Reset(t)
				require.NoError(t, os.Remove("/etc/localtime"))
				require.NoError(t, os.Symlink(file, "/etc/localtime"))
				_, err := apply(t, `{"name":"`+name+`","expires":"`+day+`"}`)
				require.NoError(t, err, "%s in %s", day, zone)
				shadow, err := os.ReadFile("/etc/shadow")
				require.NoError(t, err)
				_, line, _ := strings.Cut(string(shadow), "\n"+name+":")
				require.Equal(t, days, strings.Split(line, ":")[6], "%s in %s", day, zone)
			}
		}
	}
}
