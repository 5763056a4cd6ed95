package connection

import (
	"reflect"

	"github.com/ccm-push/ccm-push/inventory/yamlpos/schema"
)

// Patterns of texts. They match every accepted text, and may match others.
const (
	addrPattern = `^[0-9A-Za-z_.%][0-9A-Za-z_.%-]*$|^[0-9A-Za-z]*:[0-9A-Za-z_.:%-]*:[0-9A-Za-z_.:%-]*$`
	wordPattern = `^[^\x00-\x20\x7f-\x9f-][^\x00-\x20\x7f-\x9f]*$`
	numbers     = `^\+?0*[1-9][0-9]{0,4}$` // from 1 to 99999
	boolWords   = `^(true|True|TRUE|yes|Yes|YES|on|On|ON|false|False|FALSE|no|No|NO|off|Off|OFF)$`
	keyChecking = `^([Yy][Ee][Ss]|[Tt][Rr][Uu][Ee]|[Oo][Nn]|[Aa][Ss][Kk]|[Aa][Cc][Cc][Ee][Pp][Tt]-[Nn][Ee][Ww])$`
	// noLiteral is in texts that hold nothing, or something to be evaluated.
	noLiteral = `^\s*$|\{\{|\$\{`
)

// connectDoc describes the keys below connect:, for the schema: they are decoded
// one by one, see [Reader].
type connectDoc struct {
	Address      string   `json:"address" doc:"name or IP address to dial; default: the name of the host"`
	Port         int      `json:"port" doc:"port of the SSH server"`
	User         string   `json:"user" doc:"login user"`
	Password     string   `json:"password" doc:"the login password; better: use -k to be prompted"`
	PrivateKey   []string `json:"private_key" doc:"file with the key to log in with, or a list of them"`
	KnownHosts   []string `json:"known_hosts" doc:"file with the keys of hosts instead of OpenSSH's, or a list of them"`
	Jump         string   `json:"jump" doc:"jump hosts, [user@]host[:port] separated by commas, outermost first; none disables it"`
	Relay        string   `json:"relay" doc:"a host, or a group from which ccm-push picks one host, that forwards the host program to these hosts; none disables it; default: the jump host"`
	Connection   string   `json:"connection" doc:"ssh, or local for this machine itself, without SSH"`
	Become       bool     `json:"become" doc:"run the host program as another user"`
	BecomeUser   string   `json:"become_user" doc:"the user to become; default: root"`
	BecomeMethod string   `json:"become_method" doc:"how to become it"`

	BecomePassword string `json:"become_password" doc:"the password for the become method; better: use -K to be prompted"`
}

// VariablesSchema describes the variables that have a meaning. All others are
// free.
func VariablesSchema() *schema.Schema {
	s := &schema.Schema{}
	for _, name := range unsupportedVars {
		s.Properties = append(s.Properties, schema.Property{Name: name, Schema: &schema.Schema{Description: "is not supported", Enum: []any{"", nil}}})
	}
	for _, name := range keyVars {
		key := keyOf(name)
		value := valueSchema(key)
		value.Description = "as " + key + " below connect"
		s.Properties = append(s.Properties, schema.Property{Name: name, Schema: value})
	}
	for _, name := range []string{"ansible_host_key_checking", "ansible_timeout"} {
		s.Properties = append(s.Properties, schema.Property{Name: name, Schema: valueSchema(keyOf(name))})
	}
	for _, name := range argsVars {
		s.Properties = append(s.Properties, schema.Property{Name: name, Schema: &schema.Schema{
			Description: "-o, -J, -p, -i, -l and flags such as -C, as ssh takes them",
			Type:        schema.Types{schema.String, schema.Null},
		}})
	}
	return s
}

// ConnectSchema describes the map below connect:.
func ConnectSchema() *schema.Schema {
	s := schema.Rules{}.Of(reflect.TypeFor[connectDoc]())
	for _, p := range s.Properties {
		value := valueSchema(p.Name)
		if p.Schema.Items != nil { // a list, or what may be an item of it
			value.Items, value.MinItems = valueSchema(p.Name), 1
			value.Items.Type = schema.Types{schema.String, schema.Number, schema.Boolean}
			value.Type = append(value.Type, schema.Array)
		}
		value.Description = p.Schema.Description
		*p.Schema = *value
	}
	return s
}

// valueSchema describes the value of a key of a connection, as [parseValue] reads
// it from its text.
func valueSchema(key string) *schema.Schema {
	switch key {
	case "address":
		return textSchema(addrPattern)
	case "port":
		return numberSchema(65535)
	case "connect_timeout":
		return numberSchema(24 * 60 * 60)
	case "private_key":
		return textSchema("")
	case "known_hosts":
		s := textSchema("")
		s.Not.Pattern += "|^(/dev/null|none)$"
		return s
	case "host_key_checking":
		s := &schema.Schema{Type: schema.Types{schema.String, schema.Boolean, schema.Null}, Pattern: keyChecking}
		s.Not = &schema.Schema{Enum: []any{false}}
		return s
	case "become":
		return &schema.Schema{Type: schema.Types{schema.Boolean, schema.String, schema.Null}, Pattern: boolWords}
	case "become_method":
		return &schema.Schema{Enum: []any{"sudo", "su", "doas", "ansible.builtin.sudo", "ansible.builtin.su", "community.general.doas", nil}}
	case "connection":
		return &schema.Schema{Enum: []any{"ssh", "local", "smart", "paramiko", "paramiko_ssh", "ansible.builtin.ssh", "ansible.builtin.paramiko_ssh", "ansible.builtin.local", nil}}
	case "password", "become_password":
		return secretSchema()
	}
	return textSchema(wordPattern)
}

// secretSchema describes a password. Numbers and booleans are taken if they are
// written the way they are printed. A text with {{ in it is one reference.
func secretSchema() *schema.Schema {
	return &schema.Schema{
		Type: schema.Types{schema.String, schema.Number, schema.Boolean, schema.Null},
		Not: &schema.Schema{
			Type: schema.Types{schema.String}, Pattern: `^$|\{\{|[\x00-\x1f\x7f-\x9f]`,
			Not: &schema.Schema{Pattern: referencePattern},
		},
	}
}

// textSchema describes a text, for which any scalar may be written.
func textSchema(pattern string) *schema.Schema {
	return &schema.Schema{
		Type:    schema.Types{schema.String, schema.Number, schema.Boolean, schema.Null},
		Pattern: pattern,
		Not:     &schema.Schema{Type: schema.Types{schema.String}, Pattern: noLiteral},
	}
}

// numberSchema describes a number from 1, in quotes or without.
func numberSchema(most float64) *schema.Schema {
	s := schema.Between(1, most, schema.Integer, schema.String, schema.Null)
	s.Pattern = numbers
	return s
}
