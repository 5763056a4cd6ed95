package diag_test

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/templates"
	"github.com/ccm-push/ccm-push/templates/diag"
)

// factsOfLinux has what the collectors report, as far as hints name it.
var factsOfLinux = map[string]any{
	"host": map[string]any{"info": map[string]any{
		"hostname": "web1", "os": "linux", "platform": "debian", "platformFamily": "debian", "platformVersion": "12.4",
		"kernelArch": "x86_64", "kernelVersion": "6.1", "virtualizationSystem": "kvm",
	}},
	"memory":  map[string]any{"virtual": map[string]any{"total": int64(1)}},
	"cpu":     map[string]any{"info": []any{map[string]any{}}},
	"network": map[string]any{"default_ipv4": "192.0.2.1"},
}

var written = regexp.MustCompile(`^write ((?:Facts|len)[\w.()]+)`)

// TestAnsibleVariablesCanBeRead evaluates the expressions that the hints suggest.
func TestAnsibleVariablesCanBeRead(t *testing.T) {
	followed := 0
	for _, name := range []string{
		"inventory_hostname", "ansible_hostname", "ansible_fqdn", "ansible_os_family", "ansible_distribution", "ansible_distribution_version",
		"ansible_architecture", "ansible_kernel", "ansible_system", "ansible_virtualization_type", "ansible_memtotal_mb", "ansible_processor_vcpus",
		"ansible_default_ipv4", "distribution_major_version", "os_family", "groups", "hostvars", "vars",
	} {
		hint := diag.AnsibleVariable(name)
		require.NotEmpty(t, hint, name)
		m := written.FindStringSubmatch(hint)
		if m == nil {
			continue
		}
		followed++
		e, err := templates.Parse("{{ "+m[1]+" }}", templates.Position{})
		require.NoError(t, err, hint)
		_, err = e.Eval(t.Context(), &templates.Env{Facts: factsOfLinux})
		require.NoError(t, err, hint)
	}
	require.Greater(t, followed, 10)
	require.Empty(t, diag.AnsibleVariable("port"))
}
