package inventory

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPasswordReferences(t *testing.T) {
	type said struct{ password, become string }
	for _, tt := range []struct {
		name, text string
		want       said              // settings of the host h
		places     map[string]string // positions of passwords in clear
	}{
		{"another variable", "all:\n  vars: {ansible_become_password: '{{ secret }}'}\n  hosts: {h: {secret: hunter2}}\n",
			said{become: "hunter2"}, map[string]string{"become_password": "hosts.yml:3:23"}},
		{"the host's own wins", "all: {vars: {ansible_password: '{{ secret }}', secret: low}, hosts: {h: {secret: high}}}",
			said{password: "high"}, map[string]string{"password": "hosts.yml:1:82"}},
		{"below connect", "all: {hosts: {h: {connect: {password: '{{ secret }}'}, secret: hunter2}}}",
			said{password: "hunter2"}, map[string]string{"password": "hosts.yml:1:64"}},
		{"a variable of the key's name", "all: {hosts: {h: {connect: {password: '{{ password }}'}, password: hunter2}}}",
			said{password: "hunter2"}, map[string]string{"password": "hosts.yml:1:68"}},
		{"blanks", "all: {hosts: {h: {ansible_password: '{{secret}}', ansible_become_pass: '{{  secret\t}}', secret: hunter2}}}",
			said{"hunter2", "hunter2"}, map[string]string{"password": "hosts.yml:1:97", "become_password": "hosts.yml:1:97"}},
		{"one after the other, into maps", "all: {hosts: {h: {ansible_password: '{{ a }}', a: '{{ b.c.d }}', b: {c: {d: hunter2}}}}}",
			said{password: "hunter2"}, map[string]string{"password": "hosts.yml:1:77"}},
		{"another password", "all: {hosts: {h: {ansible_password: hunter2, ansible_become_password: '{{ ansible_password }}'}}}",
			said{"hunter2", "hunter2"}, map[string]string{"become_password": "hosts.yml:1:37"}},
		{"a number", "all: {hosts: {h: {ansible_password: '{{ a }}', a: 12345}}}",
			said{password: "12345"}, map[string]string{"password": "hosts.yml:1:51"}},
		{"a text that means itself", "all: {hosts: {h: {ansible_password: '{{ a }}', a: !unsafe '{{ b }}'}}}",
			said{password: "{{ b }}"}, map[string]string{"password": "hosts.yml:1:51"}},
		{"null takes a reference away", "all: {vars: {ansible_password: '{{ a }}'}, hosts: {h: {ansible_password: }}}", said{}, nil},
		{"a literal wins over a reference", "all: {vars: {ansible_password: '{{ a }}'}, hosts: {h: {connect: {password: x}}}}", said{password: "x"}, map[string]string{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := load(t, tt.text).Host("h").Connection()
			require.Empty(t, c.Refused)
			require.Equal(t, tt.want, said{c.Password, c.BecomePassword})
			require.Equal(t, tt.places, c.Referred)
		})
	}
}

func TestPasswordReferenceErrors(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"misspelt", "all: {hosts: {h: {ansible_password: '{{ vault_pas }}', vault_pass: x}}}",
			"hosts.yml:1:37: \"ansible_password\" refers to the variable \"vault_pas\", which is not set for the host\n  hint: did you mean \"vault_pass\"?"},
		{"of another host", "all: {vars: {ansible_password: '{{ vault_pass }}'}, hosts: {h: , i: {vault_pass: x}}}",
			"hosts.yml:1:32: \"ansible_password\" refers to the variable \"vault_pass\", which is not set for the host\n  hint: it is looked for among the variables that the inventory, group_vars and host_vars have for the host"},
		{"no entry", "all: {hosts: {h: {connect: {become_password: '{{ vault.become }}'}, vault: {login: x}}}}",
			"hosts.yml:1:46: \"become_password\" refers to the variable \"vault.become\", which is not set for the host\n  hint: it is looked for among the variables that the inventory, group_vars and host_vars have for the host"},
		{"no map", "all: {hosts: {h: {ansible_password: '{{ valt.x }}', vault: x}}}",
			"hosts.yml:1:37: \"ansible_password\" refers to the variable \"valt.x\", which is not set for the host\n  hint: did you mean \"vault.x\"?"},
		{"a circle", "all:\n  vars:\n    ansible_password: '{{ a }}'\n    a: '{{ b }}'\n    b: '{{ a }}'\n  hosts: {h: , i: }\n",
			"hosts.yml:4:8: passwords refer to each other in a circle: a (hosts.yml:4:8) -> b (hosts.yml:5:8) -> a (hosts.yml:4:8)\n  hint: write the password itself as the value of one of these variables"},
		{"itself", "all: {hosts: {h: {ansible_password: '{{ ansible_password }}'}}}",
			"hosts.yml:1:37: passwords refer to each other in a circle: ansible_password (hosts.yml:1:37) -> ansible_password (hosts.yml:1:37)\n  hint: write the password itself as the value of one of these variables"},
		{"a list", "all: {hosts: {h: {ansible_password: '{{ a }}', a: [hunter2]}}}",
			`hosts.yml:1:51: "a", to which "ansible_password" refers, must be a single value`},
		{"empty", "all: {hosts: {h: {ansible_password: '{{ a }}', a: ''}}}",
			"hosts.yml:1:51: \"a\", to which \"ansible_password\" refers, is empty\n  hint: remove it, or write the key without a value to unset an inherited one"},
		{"null", "all: {hosts: {h: {ansible_password: '{{ a }}', a: }}}",
			"hosts.yml:1:51: \"a\", to which \"ansible_password\" refers, is empty\n  hint: remove it, or write the key without a value to unset an inherited one"},
		{"a control character", "all: {hosts: {h: {ansible_password: '{{ a }}', a: \"hunter2\\n\"}}}",
			`hosts.yml:1:51: "a", to which "ansible_password" refers, has a control character`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inv := load(t, tt.text)
			require.EqualError(t, inv.Refusals().Err(), tt.want)
			require.EqualError(t, inv.Host("h").Connection().Refused[keyOfRefusal(inv)].Err(), tt.want)
		})
	}
	err := wrongWith(Parse("hosts.yml", []byte("all: {hosts: {h: {ansible_password: '{{ a }}', a: '{{ b | trim }}'}}}")))
	require.ErrorContains(t, err, "hosts.yml:1:51: \"a\", to which \"ansible_password\" refers, cannot be an expression\n  hint: only a single \"{{ name }}\"")
}

// keyOfRefusal returns the only key that cannot be applied for the host h.
func keyOfRefusal(inv *Inventory) string {
	for key := range inv.Host("h").Connection().Refused {
		return key
	}
	return ""
}

// TestPasswordsReferredTo checks that a variable that a password refers to is treated as a secret, like a password that
// is written directly.
func TestPasswordsReferredTo(t *testing.T) {
	inv := load(t, "all: {vars: {ansible_password: '{{ a }}', a: one}, hosts: {h: {a: two}, i: , j: {ansible_become_password: three, free: four}}}")
	require.Equal(t, []string{"one", "three", "two"}, inv.Passwords())
}

func TestPasswordReferenceInMergedMaps(t *testing.T) {
	t.Chdir(tree(t, files{"hosts.yml": "all: {vars: {ansible_password: '{{ v.a }}', v: {a: x}}, hosts: {h: {v: {b: y}}}}"}))
	inv, err := Load(t.Context(), []string{"hosts.yml"}, Options{MergeMaps: true})
	require.NoError(t, err)
	require.Equal(t, "x", inv.Host("h").Connection().Password)
	inv, err = Load(t.Context(), []string{"hosts.yml"}, Options{})
	require.NoError(t, err)
	require.Contains(t, inv.Host("h").Connection().Refused, "password")
}
