package flags

import (
	"github.com/spf13/pflag"

	"github.com/ccm-push/ccm-push/playbooks/reach"
)

// Variables holds the flags about data and facts.
type Variables struct {
	Extra, Fact  []string
	Facts, Hiera string // files; Hiera may also be a URL
	NoReadEnv    bool
	Parameters   string // file for a configuration document
}

func (f *Variables) register(set *pflag.FlagSet) {
	set.StringArrayVarP(&f.Extra, "extra-vars", "e", nil, "data with the highest precedence: `key=value`; also @file.yaml, @- (standard input) or a YAML map; may be repeated")
	set.StringVar(&f.Facts, "facts", "", "`file` of facts, in YAML or JSON; for every host, these facts override the facts of the host")
	set.StringArrayVar(&f.Fact, "fact", nil, "one fact for every host, `KEY=VALUE`; overrides --facts; may be repeated")
	set.BoolVar(&f.NoReadEnv, "no-read-env", false, "ignore the file .env next to a manifest; without this flag, expressions read the variables of the file as Environ.NAME")
	set.StringVar(&f.Hiera, "hiera", "", "`file`, http(s) URL or kv://BUCKET/KEY of NATS with data for all hosts and overrides for some hosts; these data override the data of the manifests (default $CCM_HIERA_DATA)")
	set.StringVar(&f.Parameters, "parameters", "", "YAML or JSON `file` of parameters for a DSC configuration document")
}

// Secrets holds the flags about passwords and keys that decrypt values.
type Secrets struct {
	Vault         reach.VaultSources
	AgeIdentities []string // files
}

func (f *Secrets) register(set *pflag.FlagSet) {
	v := &f.Vault
	set.StringArrayVar(&v.IDs, "vault-id", nil, "ansible-vault password: `[LABEL@]SOURCE`, where SOURCE is a file, a program that prints the password, or the word prompt; may be repeated")
	set.StringArrayVar(&v.Files, "vault-password-file", nil, "`file` with an ansible-vault password, or a program that prints it; may be repeated (also: --vault-pass-file)")
	set.BoolVarP(&v.Ask, "ask-vault-pass", "J", false, "prompt for an ansible-vault password (also: --ask-vault-password)")
	set.StringArrayVar(&f.AgeIdentities, "age-identity", nil, "private key `file` that decrypts age values, from age-keygen or ssh-keygen; may be repeated. Without the flag, ccm-push uses the files in $CCM_AGE_IDENTITY. If the variable is not set, it tries ~/.ssh/id_ed25519, ~/.ssh/id_rsa, ~/.config/age/keys.txt and the key file of sops")
}
