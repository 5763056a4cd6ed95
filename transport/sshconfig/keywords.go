package sshconfig

// An Option is a setting of ssh_config(5) that counts here.
type Option int

// Options that have an effect. [Settings.Values] describes the form of their values.
const (
	HostName Option = iota
	Port
	User
	IdentityFile
	CertificateFile
	IdentitiesOnly
	IdentityAgent
	ProxyJump
	ProxyCommand
	UserKnownHostsFile
	GlobalKnownHostsFile
	RevokedHostKeys
	StrictHostKeyChecking
	HostKeyAlias
	HashKnownHosts
	ConnectTimeout
	ConnectionAttempts
	ServerAliveInterval
	ServerAliveCountMax
	AddressFamily
	BindAddress
	Ciphers
	KexAlgorithms
	MACs
	HostKeyAlgorithms
	PubkeyAcceptedAlgorithms
	PreferredAuthentications
	PubkeyAuthentication
	PasswordAuthentication
	KbdInteractiveAuthentication
	CanonicalizeHostname
	Tag
	ignoreUnknown
	options // how many there are
)

// A kind is a form of the arguments of a keyword.
type kind int

const (
	ignored    kind = iota // any arguments
	text                   // one word
	yesNo                  // yes or no
	choice                 // one of some words
	number                 // from 0
	port                   // 1 to 65535, or a service
	seconds                // or none
	file                   // one word; each line adds one
	files                  // words, none alone
	algorithms             // a list with commas, with + - or ^ before it
	command                // the rest of the line
	jump                   // the rest of the line up to a blank
	host
	match
	include
)

// A keyword is a word that a line may begin with.
type keyword struct {
	kind   kind
	option Option
	words  []string // words of a choice, each followed by its meaning
	warn   warning
}

// A warning names the files in which a line without an effect is reported.
type warning int

const (
	never    warning = iota
	ofUsers          // files of the user only: lines of a distribution are not reported
	anywhere         // it changes who is trusted, or which way is taken
)

// labels are the options as ssh_config(5) writes them.
var labels = [options]string{
	"HostName", "Port", "User", "IdentityFile", "CertificateFile", "IdentitiesOnly", "IdentityAgent", "ProxyJump",
	"ProxyCommand", "UserKnownHostsFile", "GlobalKnownHostsFile", "RevokedHostKeys", "StrictHostKeyChecking",
	"HostKeyAlias", "HashKnownHosts", "ConnectTimeout", "ConnectionAttempts", "ServerAliveInterval",
	"ServerAliveCountMax", "AddressFamily", "BindAddress", "Ciphers", "KexAlgorithms", "MACs", "HostKeyAlgorithms",
	"PubkeyAcceptedAlgorithms", "PreferredAuthentications", "PubkeyAuthentication", "PasswordAuthentication",
	"KbdInteractiveAuthentication", "CanonicalizeHostname", "Tag", "IgnoreUnknown",
}

// String is the option as ssh_config(5) writes it.
func (o Option) String() string { return labels[o] }

var (
	checkingWords     = []string{"yes", "yes", "true", "yes", "ask", "ask", "accept-new", "accept-new", "no", "no", "false", "no", "off", "no"}
	familyWords       = []string{"any", "any", "inet", "inet", "inet6", "inet6"}
	canonicalizeWords = []string{"yes", "yes", "true", "yes", "no", "no", "false", "no", "always", "always"}
	pubkeyWords       = []string{"yes", "yes", "true", "yes", "no", "no", "false", "no", "unbound", "yes", "host-bound", "yes"}
)

// keywords has all keywords of ssh in lower case, older names included.
var keywords = func() map[string]*keyword {
	table := map[string]*keyword{
		"host":    {kind: host},
		"match":   {kind: match},
		"include": {kind: include},

		"hostname":                        {kind: text, option: HostName},
		"port":                            {kind: port, option: Port},
		"user":                            {kind: text, option: User},
		"identityfile":                    {kind: file, option: IdentityFile},
		"identityfile2":                   {kind: file, option: IdentityFile},
		"certificatefile":                 {kind: file, option: CertificateFile},
		"identitiesonly":                  {kind: yesNo, option: IdentitiesOnly},
		"identityagent":                   {kind: text, option: IdentityAgent},
		"proxyjump":                       {kind: jump, option: ProxyJump},
		"proxycommand":                    {kind: command, option: ProxyCommand},
		"userknownhostsfile":              {kind: files, option: UserKnownHostsFile},
		"globalknownhostsfile":            {kind: files, option: GlobalKnownHostsFile},
		"revokedhostkeys":                 {kind: text, option: RevokedHostKeys},
		"stricthostkeychecking":           {kind: choice, option: StrictHostKeyChecking, words: checkingWords},
		"hostkeyalias":                    {kind: text, option: HostKeyAlias},
		"hashknownhosts":                  {kind: yesNo, option: HashKnownHosts},
		"connecttimeout":                  {kind: seconds, option: ConnectTimeout},
		"connectionattempts":              {kind: number, option: ConnectionAttempts},
		"serveraliveinterval":             {kind: seconds, option: ServerAliveInterval},
		"protocolkeepalives":              {kind: seconds, option: ServerAliveInterval},
		"setuptimeout":                    {kind: seconds, option: ServerAliveInterval},
		"serveralivecountmax":             {kind: number, option: ServerAliveCountMax},
		"addressfamily":                   {kind: choice, option: AddressFamily, words: familyWords},
		"bindaddress":                     {kind: text, option: BindAddress},
		"ciphers":                         {kind: algorithms, option: Ciphers},
		"kexalgorithms":                   {kind: algorithms, option: KexAlgorithms},
		"macs":                            {kind: algorithms, option: MACs},
		"hostkeyalgorithms":               {kind: algorithms, option: HostKeyAlgorithms},
		"pubkeyacceptedalgorithms":        {kind: algorithms, option: PubkeyAcceptedAlgorithms},
		"pubkeyacceptedkeytypes":          {kind: algorithms, option: PubkeyAcceptedAlgorithms},
		"preferredauthentications":        {kind: text, option: PreferredAuthentications},
		"pubkeyauthentication":            {kind: choice, option: PubkeyAuthentication, words: pubkeyWords},
		"dsaauthentication":               {kind: choice, option: PubkeyAuthentication, words: pubkeyWords},
		"passwordauthentication":          {kind: yesNo, option: PasswordAuthentication},
		"kbdinteractiveauthentication":    {kind: yesNo, option: KbdInteractiveAuthentication},
		"challengeresponseauthentication": {kind: yesNo, option: KbdInteractiveAuthentication},
		"skeyauthentication":              {kind: yesNo, option: KbdInteractiveAuthentication},
		"tisauthentication":               {kind: yesNo, option: KbdInteractiveAuthentication},
		"canonicalizehostname":            {kind: choice, option: CanonicalizeHostname, words: canonicalizeWords},
		"tag":                             {kind: text, option: Tag},
		"ignoreunknown":                   {kind: text, option: ignoreUnknown},
	}
	add := func(w warning, words ...string) {
		for _, word := range words {
			table[word] = &keyword{kind: ignored, warn: w}
		}
	}
	add(anywhere, "knownhostscommand", "bindinterface", "pkcs11provider", "smartcarddevice", "proxyusefdpass",
		"canonicaldomains", "refuseconnection")
	add(ofUsers, "gssapiauthentication", "gssapikeyexchange", "hostbasedauthentication", "securitykeyprovider",
		"verifyhostkeydns", "tunnel", "requiredrsasize", "casignaturealgorithms", "nohostauthenticationforlocalhost",
		"canonicalizepermittedcnames")
	add(never,
		// about sessions that people have, or about what a run does anyway
		"addkeystoagent", "batchmode", "canonicalizefallbacklocal", "canonicalizemaxdots", "channeltimeout", "checkhostip",
		"clearallforwardings", "compression", "controlmaster", "controlpath", "controlpersist", "dynamicforward",
		"enableescapecommandline", "enablesshkeysign", "escapechar", "exitonforwardfailure", "fingerprinthash",
		"forkafterauthentication", "forwardagent", "forwardx11", "forwardx11timeout", "forwardx11trusted", "gatewayports",
		"gssapiclientidentity", "gssapidelegatecredentials", "gssapikexalgorithms", "gssapirenewalforcesrekey",
		"gssapiserveridentity", "gssapitrustdns", "hostbasedacceptedalgorithms", "hostbasedkeytypes", "ipqos",
		"kbdinteractivedevices", "keepalive", "localcommand", "localforward", "loglevel", "logverbose",
		"numberofpasswordprompts", "obscurekeystroketiming", "permitlocalcommand", "permitremoteopen", "rekeylimit",
		"remotecommand", "remoteforward", "requesttty", "sendenv", "sessiontype", "setenv", "stdinnull",
		"streamlocalbindmask", "streamlocalbindunlink", "syslogfacility", "tcpkeepalive", "tunneldevice", "updatehostkeys",
		"versionaddendum", "visualhostkey", "warnweakcrypto", "xauthlocation",
		// gone from OpenSSH
		"afstokenpassing", "cipher", "compressionlevel", "fallbacktorsh", "globalknownhostsfile2",
		"kerberosauthentication", "kerberosgtpassing", "kerberostgtpassing", "protocol", "rhostsauthentication",
		"rhostsrsaauthentication", "rsaauthentication", "useblacklistedkeys", "useprivilegedport", "userknownhostsfile2",
		"useroaming", "usersh")
	return table
}()
