package resource_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules/builtin"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/playbooks/manifest/load"
)

// parse reads a manifest that is called site.yaml.
func parse(text string) ([]*manifest.Play, error) {
	return load.Parse(context.Background(), "site.yaml", []byte(text), builtin.Types())
}

// root completes a file, so that a case shows only what it tests.
const root = "owner: root, group: root, mode: '0644'"

// list puts resources, one per line, into a manifest; the first is at line 3.
func list(lines ...string) string {
	return "ccm:\n  resources:\n    " + strings.Join(lines, "\n    ") + "\n"
}

// wrongResources have errors in their resources.
var wrongResources = []struct{ name, manifest, want string }{
	{"scalar", list("- file"), "site.yaml:3:7: a list item must be a map with one resource type\n  hint: write one resource type per list item: - file: [...]"},
	{"two types", list("- {file: [], exec: [a: {shell: x}]}"), "site.yaml:3:7: a list item must be a map with one resource type\n  hint: write one resource type per list item: - file: [...]\n" +
		"site.yaml:3:8: \"file\" has no resources\n  hint: write a list: - NAME: {...}\nsite.yaml:3:29: type exec has no property \"shell\"\n  hint: write provider: shell"},
	{"errors behind the first of a list", list("- exec:", "  - name: ls", "    chdir: /tmp", "  - a: {comand: x}", "  - {}", "  - /srv: ", "    cwd: rel", "    shell: x", "  - command: ls", "    cmd: x", "  - b: {comand: x}", "    c: {retruns: x}", "- exec: []"), `site.yaml:4:9: "name" is not a property where the resources of exec are a list
  hint: the key is the name: - ls: {...}
site.yaml:5:9: type exec has no property "chdir"
  hint: write "cwd"
site.yaml:6:13: type exec has no property "comand"
  hint: did you mean "command"?
site.yaml:7:9: this exec resource has no name
  hint: write - NAME: {...}
site.yaml:8:9: multiple resource names found in exec resource
  hint: start each resource with its own dash, and indent its properties below its name
site.yaml:9:14: cwd: "rel" is not an absolute path
site.yaml:10:9: type exec has no property "shell"
  hint: write provider: shell
site.yaml:11:9: this exec resource has no name
  hint: the name comes first, and its properties below it: - NAME: {command: ...}
site.yaml:12:9: type exec has no property "cmd"
  hint: write "command"
site.yaml:13:9: multiple resource names found in exec resource
  hint: start each resource with its own dash, and indent its properties below its name
site.yaml:13:13: type exec has no property "comand"
  hint: did you mean "command"?
site.yaml:14:13: type exec has no property "retruns"
  hint: did you mean "returns"?
site.yaml:15:7: "exec" has no resources
  hint: write a list: - NAME: {...}`},
	{"what is wrong three times at one place", "strict: true\n" + list("- file: [/tmp/own: {content: x}]"),
		"site.yaml:4:14: the property \"owner\" is missing or empty (the play sets strict: true)\n  hint: set \"owner\" here, or under \"defaults\" of the play\nsite.yaml:4:14: the property \"group\" is missing or empty (the play sets strict: true)\n  hint: set \"group\" here, or under \"defaults\" of the play\nsite.yaml:4:14: the property \"mode\" is missing or empty (the play sets strict: true)\n  hint: set \"mode\" here, or under \"defaults\" of the play"},
	{"keys that are no misspelt ones", list("- file: [/a: {src: /x/y/zzz, home: x, path: /a, "+root+"}]", "- exec: [a: {create: /x, mode: x, src: y, recurse: true}]", "- service: [b: {shell: x, chdir: /, enabled: true}]"),
		`site.yaml:3:19: type file has no property "src"
  hint: write "source", or "content" with template(...)
site.yaml:3:34: type file has no property "home"
  hint: "home" is for user
site.yaml:3:43: type file has no property "path"
  hint: the key is the path: - /etc/motd: {...}
site.yaml:4:18: type exec has no property "create"
  hint: did you mean "creates"?
site.yaml:4:30: type exec has no property "mode"
  hint: "mode" is for file, archive, line, ini, selinux, tls_key, tls_cert
site.yaml:4:39: type exec has no property "src"
  hint: the properties of exec are name, ensure, provider, command, cwd, environment, path, user, timeout, creates, onlyif, unless, refreshonly, refresh_only, readonly, returns, affects, logoutput
site.yaml:4:47: type exec has no property "recurse"
  hint: only file has it, with ensure: directory; for a whole folder with "owner" and "group" use scaffold
site.yaml:5:21: type service has no property "shell"
  hint: "shell" is for user
site.yaml:5:31: type service has no property "chdir"
  hint: the properties of service are name, ensure, enable, masked, reload, refreshonly, refresh_only, action, provider, timeout
site.yaml:5:41: type service has no property "enabled"
  hint: write "enable"`},
	{"notify at a later resource", list("- service: [cron: {}]", "- file: [/a: {"+root+", notify: [service#cron]}]"),
		"site.yaml:4:68: service#cron comes earlier, at line 3\n  hint: resources run in the order written: move file#/a above service#cron, or set strategy: graph on the play"},
	{"notify of what has no refresh, misspelt", list("- file: [/a: {"+root+", notify: [group#ab]}]", "- group: [aa: {}]", "- exec: [a: {require: [exec#aa]}]"),
		"site.yaml:3:68: no resource is called group#ab\nsite.yaml:5:28: no resource is called exec#aa\n  hint: did you mean group#aa?"},
	{"a module of Ansible", list("- copy: [x: {}]", "- ansible.builtin.apt: {name: nginx}", "- exec: [a: {require: [apt#nginx]}]"),
		`site.yaml:3:7: "copy" is a module of Ansible
  hint: use the type file: write - file: [/etc/motd: {source: motd, owner: root, group: root, mode: "0644"}]
site.yaml:4:7: "ansible.builtin.apt" is a module of Ansible
  hint: use the type package: write - package: [nginx: {ensure: present}]
site.yaml:5:28: unknown resource type "apt"
  hint: did you mean package#nginx?`},
	{"tasks of Ansible", list("- name: nginx", "  apt: {name: nginx}", "- name: facts", "  set_fact: {a: b}", "- name: dir", "  file: {path: /srv}", "  notify: x"),
		`site.yaml:4:7: this is a task of Ansible: apt
  hint: use the type package: write - package: [nginx: {ensure: present}]
site.yaml:6:7: this is a task of Ansible: set_fact
  hint: use the type set: write - set: [purpose: {data: {port: 8080}}]
site.yaml:8:7: this is a task of Ansible: file
  hint: use the type file: write - file: [/srv/app: {ensure: directory, owner: root, group: root, mode: "0755"}]`},
	{"keys beside a type", list("- file: [/a: {"+root+"}]", "  require: [exec#x]", "- exec: [b: ]", "  tags: [x]", "  alias: y", "- service: {name: c}", "  before: [exec#b]", "- group: [d: {x: y}]", "  notify: [exec#b]"),
		`site.yaml:4:7: "require" belongs inside the resource, not on the level of "file"
  hint: write - file: [NAME: {require: ...}]
site.yaml:6:7: "tags" belongs inside the resource, not on the level of "exec"
  hint: write - exec: [NAME: {tags: ...}]
site.yaml:7:7: "alias" belongs inside the resource, not on the level of "exec"
  hint: write - exec: [NAME: {alias: ...}]
site.yaml:9:7: "before" belongs inside the resource, not on the level of "service"
  hint: write - service: {name: NAME, before: ...}
site.yaml:10:19: type group has no property "x"
site.yaml:11:7: "notify" belongs inside the resource, not on the level of "group"
  hint: write - group: [NAME: {notify: ...}]`},
	{"a task of Ansible without a name", list("- package: {name: nginx}", "  tags: [x]", "- file: {path: /srv}", "  when: x"),
		`site.yaml:3:7: this is a task of Ansible: package
  hint: use the type package: write - package: [nginx: {ensure: present}]
site.yaml:5:7: this is a task of Ansible: file
  hint: use the type file: write - file: [/srv/app: {ensure: directory, owner: root, group: root, mode: "0755"}]`},
	{"unknown type", list("- flie: []"), "site.yaml:3:7: unknown resource type \"flie\"\n  hint: did you mean \"file\"?"},
	{"quite unknown type", list("- printer: []"), "site.yaml:3:7: unknown resource type \"printer\"\n  hint: ccm-push --help lists the types"},
	{"null", list("- file:"), "site.yaml:3:7: \"file\" has no resources\n  hint: write a list: - NAME: {...}"},
	{"empty list", list("- file: []"), "site.yaml:3:7: \"file\" has no resources\n  hint: write a list: - NAME: {...}"},
	{"only defaults", list("- file: [defaults: {owner: root}]"), "site.yaml:3:7: \"file\" has no resources\n  hint: write a list: - NAME: {...}"},
	{"names without properties", list("- exec: [ls, {a: }]"), "site.yaml:3:14: the text \"ls\" is not a map with a name and properties\n  hint: write - ls: {}"},
	{"an expression that is not closed, in a name", list("- file: ['{{ Data.dir }/a': {" + root + "}, '${x': {" + root + "}]"),
		`site.yaml:3:14: name: file path must be absolute
  hint: write a path that begins with /; this {{ is not closed, so it stays text; close the expression, or write {{ "{{" }}
site.yaml:3:75: name: file path must be absolute
  hint: write a path that begins with /; this ${ is not closed, so it stays text; close the expression, or write {{ "${" }}`},
	{"two names in one entry", list("- exec: [{a: , b: }]"), "site.yaml:3:14: multiple resource names found in exec resource\n  hint: start each resource with its own dash, and indent its properties below its name"},
	{"two defaults", list("- exec: [{defaults: {}}, {a: }, {defaults: {}}]"), "site.yaml:3:37: multiple defaults found in exec resource"},
	{"defaults that are no map", list("- exec: [{defaults: x}, {a: }]"), "site.yaml:3:25: \"defaults\" must be a map, not the text \"x\"\n  hint: write properties: - defaults: {owner: root}"},
	{"properties that are no map", list("- exec: [{a: b}]"), "site.yaml:3:18: the properties of exec must be a map, not the text \"b\"\n  hint: write the properties below the name, one per line, such as key: value"},
	{"no name", list("- exec: {command: ls}"), "site.yaml:3:13: name is required"},
	{"a list for a name", list("- exec: {name: [ls]}"), `site.yaml:3:20: "name" must be a single value, not a list`},
	{"unknown property", list("- file: [/a: {contnt: x, " + root + "}]"), "site.yaml:3:19: type file has no property \"contnt\"\n  hint: did you mean \"content\"?"},
	{"unknown common key", list("- exec: [a: {requires: [exec#a]}]"), "site.yaml:3:18: type exec has no property \"requires\"\n  hint: did you mean \"require\"?"},
	{"a shell is a provider", list("- exec: [a: {shell: x}]"), "site.yaml:3:18: type exec has no property \"shell\"\n  hint: write provider: shell"},
	{"of another type", list("- group: [a: {}]", "- exec: [b: {require: [user#a]}]"), "site.yaml:4:28: no resource is called user#a\n  hint: did you mean group#a?"},
	{"quite unknown property", list("- exec: [a: {become: true}]"), "site.yaml:3:18: type exec has no property \"become\"\n  hint: \"become\" is a key of plays; to run one command as another user, write user: NAME at the exec"},
	{"registrations", list(`- exec:
        - a:
            register_when_stable:
              - {cluster: 1x, service: "a b", protocol: tcp, address: web1, port: 0, priority: 256, ttl: soon}
              - {cluster: c, adress: "::1", port: http}
              - x
            tags: ["{{ Data.x }}"]`), `site.yaml:6:27: registration is invalid: cluster "1x" is not a valid name
site.yaml:6:40: registration is invalid: service "a b" is not a valid name
site.yaml:6:71: registration is invalid: address "web1" is not an IP address
site.yaml:6:83: registration is invalid: port "0" is outside 1-65535
site.yaml:6:96: registration is invalid: priority "256" is outside 1-255
site.yaml:6:106: registration is invalid: ttl "soon" is neither a duration such as 30s nor never
site.yaml:7:17: registration is invalid: service is required
site.yaml:7:17: registration is invalid: protocol is required
site.yaml:7:17: registration is invalid: address is required
site.yaml:7:17: registration is invalid: priority is required
site.yaml:7:30: unknown key "adress" in "register_when_stable[1]" (did you mean "address"?)
site.yaml:7:51: "register_when_stable[1].port" must be an integer, not the text "http"
site.yaml:8:17: "register_when_stable[2]" must be a map, not the text "x"
  hint: write a map, such as key: value
site.yaml:9:20: a tag cannot be an expression
  hint: write a fixed tag; to select resources by host, write control: {if: EXPRESSION}`},
	{"circular references", list("- exec: [a: {require: [exec#b]}, b: {require: [exec#c]}, c: {subscribe: [exec#a]}]"),
		"site.yaml:3:28: circular reference: exec#a → exec#b → exec#c → exec#a\n  hint: remove one of these references"},
	{"a password that is no hash", list("- user: [ann: {password: x}]"), "site.yaml:3:20: type user has no property \"password\"\n  hint: set \"password_hash\" to the output of: openssl passwd -6"},
	{"a play's key at a resource", list("- exec: [a: {strategy: free}]"), "site.yaml:3:18: type exec has no property \"strategy\""},
	{"two spellings", list("- file: [/a: {content: x, contents: y, " + root + "}]"), "site.yaml:3:31: \"content\" and \"contents\" are two spellings of one key\n  hint: keep one of them"},
	{"shapes of common keys", list("- exec:", "  - a:", "      alias: [x]", "      require: exec#b", "      control: x", "      noop: maybe", "      sensitive: [x]", "      tags: web", "      each: 5"),
		"site.yaml:5:18: \"alias\" must be a single value, not a list\nsite.yaml:6:20: \"require\" must be a list, not the text \"exec#b\"\n  hint: write a list: - exec#b\n" +
			"site.yaml:7:20: \"control\" must be a map, not the text \"x\"\n  hint: write control: {if: Data.x == 'y'}\nsite.yaml:8:17: \"noop\" must be true or false, not the text \"maybe\"\n" +
			"site.yaml:9:22: \"sensitive\" must be a single value, not a list\nsite.yaml:10:17: \"tags\" must be a list, not the text \"web\"\n  hint: write a list: - web\n" +
			"site.yaml:11:17: the value of \"each\" must be a list, not the number 5\n  hint: write a list, or an expression that returns a list: each: \"{{ Data.sites }}\""},
	{"expressions where there can be none", list("- exec:", "  - a:", "      control: \"{{ Data.c }}\"", "      tags: [\"{{ Data.t }}\"]", "  - b: {control: {if: \"{{ Data.x }}\", unless: 5}}", "  - c: {control: {iff: x}}"),
		"site.yaml:5:20: \"control\" must be a map, not the text \"{{ Data.c }}\"\n  hint: write control: {if: Data.x == 'y'}\nsite.yaml:6:18: a tag cannot be an expression\n  hint: write a fixed tag; to select resources by host, write control: {if: EXPRESSION}\n" +
			"site.yaml:7:27: \"control.if\" is an expression already, without delimiters\n  hint: write it bare: if: Data.role == \"web\"\nsite.yaml:7:51: \"control.unless\" must be true or false, not the number 5\n  hint: write a comparison, such as Data.x == \"y\"\n" +
			"site.yaml:8:23: unknown key \"iff\" in \"control\" (did you mean \"if\"?)"},
	{"shapes of control", list("- exec: [a: {control: {if: 5, unless: {}}}]"), "site.yaml:3:32: \"control.if\" must be true or false, not the number 5\n  hint: write a comparison, such as Data.x == \"y\"\nsite.yaml:3:43: \"control.unless\" must be an expression, not a map\n  hint: write a comparison, such as Data.x == \"y\", or a list of them"},
	{"lists of control", list("- exec: [a: {control: {if: ['x', '{{ y }}', [z]], unless: []}}]"), "site.yaml:3:34: unknown name \"x\" in the expression \"x\"\n  hint: for data write Data.x or lookup('data.x'), for a fact Facts.…; put quotes around a text\nsite.yaml:3:38: \"control.if[1]\" is an expression already, without delimiters\n  hint: write it bare: if: Data.role == \"web\"\nsite.yaml:3:49: \"control.if[2]\" must be an expression, not a list\n  hint: write a comparison, such as Data.x == \"y\", or a list of them\nsite.yaml:3:63: \"control.unless\" is empty\n  hint: write a comparison, such as Data.x == \"y\", or remove the key"},
	{"syntax of expressions", list("- file:", "  - \"/{{ Data. }}\": {content: \"{{ 1 + }}\", mode: \"{{ ) }}\", owner: root, group: root, alias: '{{ 2 + }}', control: {if: 'a =='}}"),
		"site.yaml:4:19: unexpected end of expression in the expression \"Data.\"\nsite.yaml:4:42: unexpected end in the expression \"1 +\"\n" +
			"site.yaml:4:58: unexpected Bracket(\")\") in the expression \")\"\nsite.yaml:4:105: unexpected end in the expression \"2 +\"\nsite.yaml:4:129: unexpected end in the expression \"a ==\""},
	{"subscribe", list("- exec: [a: ]", "- file: [/a: {subscribe: [exec#a], "+root+"}]"), "site.yaml:4:30: type file has no refresh, so it cannot subscribe\n  hint: use \"require\" for the order"},

	{"mode", list("- file: [/a: {mode: '0999', owner: root, group: root}]"), "site.yaml:3:25: mode \"0999\" has a digit outside 0-7" + modeHint},
	{"ensure", list("- file: [/a: {ensure: there, " + root + "}]"), "site.yaml:3:27: ensure: \"there\" is not one of \"present\", \"absent\", \"directory\""},
	{"a fact in the name of a source", list("- file: [/a: {source: 'keys/{{ Facts.fqdn }}', " + root + "}]"),
		"site.yaml:3:27: data from a host cannot choose which file ccm-push reads\n  hint: choose between fixed file names, such as \"{{ Facts.x == 'y' ? 'a.conf' : 'b.conf' }}\", or use data of the inventory"},
	{"an element from facts in the name of a source", list("- file: ['/{{ Item }}': {each: '{{ Facts.list }}', source: '{{ Item }}', " + root + "}]"),
		"site.yaml:3:64: data from a host cannot choose which file ccm-push reads\n  hint: choose between fixed file names, such as \"{{ Facts.x == 'y' ? 'a.conf' : 'b.conf' }}\", or use data of the inventory"},
	{"relative path", list("- file: [a: {" + root + "}]"), "site.yaml:3:14: name: file path must be absolute\n  hint: write a path that begins with /"},
	{"missing properties", "strict: true\n" + list("- file: [/a: ]"), "site.yaml:4:14: the property \"owner\" is missing or empty (the play sets strict: true)\n  hint: set \"owner\" here, or under \"defaults\" of the play\nsite.yaml:4:14: the property \"group\" is missing or empty (the play sets strict: true)\n  hint: set \"group\" here, or under \"defaults\" of the play\nsite.yaml:4:14: the property \"mode\" is missing or empty (the play sets strict: true)\n  hint: set \"mode\" here, or under \"defaults\" of the play"},
	{"null properties are not given", "strict: true\n" + list("- file: [/a: {owner: , group: , mode: }]"), "site.yaml:4:26: the property \"owner\" is missing or empty (the play sets strict: true)\n  hint: set \"owner\" here, or under \"defaults\" of the play\nsite.yaml:4:35: the property \"group\" is missing or empty (the play sets strict: true)\n  hint: set \"group\" here, or under \"defaults\" of the play\nsite.yaml:4:43: the property \"mode\" is missing or empty (the play sets strict: true)\n  hint: set \"mode\" here, or under \"defaults\" of the play"},
	{"both content and source", list("- file: [/a: {content: x, source: y, " + root + "}]"), "site.yaml:3:39: 'content' and 'source' are mutually exclusive"},
	{"quotes", list("- exec: [\"echo 'a\": ]"), "site.yaml:3:14: name: unterminated single-quoted string\n  hint: close the quote, or put a backslash before the quote"},
	{"an element of a list", list("- exec: [a: {environment: [A=1, B], returns: [0, 300]}]"), "site.yaml:3:37: invalid environment variable \"B\": missing '='" + "\nsite.yaml:3:54: returns[1]: exit code 300 is outside 0-255"},
	{"types", list("- exec: [a: {refreshonly: maybe, returns: [x], environment: A=1}]"),
		"site.yaml:3:31: \"refreshonly\" must be true or false, not the text \"maybe\"\nsite.yaml:3:48: \"returns[0]\" must be an integer, not the text \"x\"\nsite.yaml:3:65: \"environment\" must be a list, not the text \"A=1\"\n  hint: write a list: - A=1"},
	{"a wrong type hides nothing else", list("- file: [/a: {force: maybe, mode: '0999', owner: root, group: root}]"), "site.yaml:3:26: \"force\" must be true or false, not the text \"maybe\"\nsite.yaml:3:39: mode \"0999\" has a digit outside 0-7" + modeHint},
	{"a mistake in defaults is reported once", list("- file: [{defaults: {owner: root, group: root, mode: '0999'}}, {/a: }, {/b: }]"), "site.yaml:3:58: mode \"0999\" has a digit outside 0-7" + modeHint},
	{"an unknown key in defaults", list("- file: [{defaults: {onwer: root, " + root + "}}, {/a: }, {/b: }]"), "site.yaml:3:26: type file has no property \"onwer\"\n  hint: did you mean \"owner\"?"},

	{"literals beside expressions", list("- file: [a: {content: \"{{ Data.x }}\", mode: '0999', owner: root, group: root}]"), "site.yaml:3:14: name: file path must be absolute\n  hint: write a path that begins with /\nsite.yaml:3:49: mode \"0999\" has a digit outside 0-7" + modeHint},
	{"a literal below an open name", list("- file: [\"{{ Data.x }}\": {mode: '0999', owner: root, group: root}]"), "site.yaml:3:37: mode \"0999\" has a digit outside 0-7" + modeHint},
	{"an element beside an open one", list("- exec: [a: {environment: [\"{{ Data.x }}\", B]}]"), "site.yaml:3:48: invalid environment variable \"B\": missing '='"},
	{"missing whatever is open", "strict: true\n" + list("- file: [/a: {content: \"{{ Data.x }}\", owner: root, group: root}]"), "site.yaml:4:14: the property \"mode\" is missing or empty (the play sets strict: true)\n  hint: set \"mode\" here, or under \"defaults\" of the play"},

	{"references", list("- exec:", "  - a: {require: [exec#a]}", "  - b: {require: [exec#c, exec#a, exec#d, file#x, exce#a, apply#ppp, a, 'exec#', '#a', \"\"]}", "  - c: {alias: sea, require: [exec#seb]}", "  - d: {require: [exec#sea, exec#see]}"),
		"site.yaml:4:23: exec#a refers to itself\nsite.yaml:5:23: exec#c is defined later, at line 6\n  hint: move exec#c above this resource: resources run in the order written\n" +
			"site.yaml:5:39: exec#d is defined later, at line 7\n  hint: move exec#d above this resource: resources run in the order written\nsite.yaml:5:47: no resource is called file#x\n" +
			"site.yaml:5:55: unknown resource type \"exce\"\n  hint: did you mean \"exec\"?\nsite.yaml:5:63: no resource is called apply#ppp\n" +
			"site.yaml:5:74: \"a\" is not a reference to a resource" + refHint + "\nsite.yaml:5:77: \"exec#\" is not a reference to a resource" + refHint + "\nsite.yaml:5:86: \"#a\" is not a reference to a resource" + refHint + "\nsite.yaml:5:92: \"\" is not a reference to a resource" + refHint +
			"\nsite.yaml:6:35: no resource is called exec#seb\nsite.yaml:7:33: no resource is called exec#see\n  hint: did you mean exec#sea?"},
	{"a later open name is no hope", list("- exec:", "  - a: {require: [exec#reload]}", "  - \"{{ Data.x }}\":"), "site.yaml:4:23: no resource is called exec#reload"},
	{"an open name of another type is no hope", list("- file: [\"{{ Data.x }}\": {"+root+"}]", "- exec: [a: {require: [exec#reload]}]"), "site.yaml:4:28: no resource is called exec#reload"},
	{"a broken target is no second error", list("- exec:", "  - a: 5", "  - b: {require: [exec#a]}"), "site.yaml:4:12: the properties of exec must be a map, not the number 5\n  hint: write the properties below the name, one per line, such as key: value"},
}

const (
	modeHint = "\n  hint: write an octal string such as mode: \"0644\""
	refHint  = "\n  hint: write TYPE#NAME, such as file#/etc/motd"
)

func TestWrongResources(t *testing.T) {
	for _, c := range wrongResources {
		t.Run(c.name, func(t *testing.T) {
			_, err := parse(c.manifest)
			require.EqualError(t, err, c.want)
		})
	}
}

// goodResources have no error that could be known without a host.
var goodResources = []struct{ name, manifest string }{
	{"two spellings in defaults and entry", list("- file: [{/a: {content: x}}, {defaults: {contents: y, " + root + "}}]")},
	{"the name wins over the property", list("- file: [/a: {name: /b, " + root + "}]")},
	{"null leaves the default", list("- file: [{defaults: {" + root + "}}, {/a: {mode: }}]")},
	{"a condition that is a literal", list("- exec: [a: {control: {if: true, unless: }}]")},
	{"content and source when one is open", list("- file: [/a: {content: \"{{ Data.x }}\", source: y, ensure: \"{{ Data.e }}\", " + root + "}]")},
	{"quotes for an open provider", list("- exec: [\"echo 'a\": {provider: \"{{ Data.p }}\"}]")},
	{"quotes in a name with an open command", list("- exec: [\"it's\": {command: \"{{ Data.c }}\"}]")},
	{"nothing is required when ensure is open", list("- file: [/a: {ensure: \"{{ Data.e }}\"}]")},
	{"force when ensure is open", list("- file: [/a: {ensure: \"{{ Data.e }}\", force: true, " + root + "}]")},
	{"many open properties", list("- exec: [\"{{ Data.n }}\": {ensure: '{{ Data.a }}', provider: '{{ Data.b }}', command: '{{ Data.c }}', cwd: '{{ Data.d }}', path: '{{ Data.e }}', user: '{{ Data.f }}', timeout: '{{ Data.g }}', creates: '{{ Data.h }}', onlyif: '{{ Data.i }}'}]")},
	{"whole lists", list("- exec: [{a: }, {b: {environment: '{{ Data.e }}', returns: '{{ Data.r }}', require: '{{ Data.q }}', subscribe: '{{ Data.s }}', each: '{{ Data.l }}'}}]")},
	{"noop and sensitive", list("- exec: [a: {noop: '{{ Data.n }}', sensitive: '{{ Data.s }}'}, b: {noop: yes, sensitive: off}]")},
	{"an open earlier name", list("- exec: [{\"{{ Data.x }}\": }, {a: {require: [exec#x]}}]")},
	{"an earlier each", list("- exec: [{\"{{ Item }}\": {each: [x]}}, {a: {require: [exec#x]}}]")},
	{"elements of one each", list("- exec: [\"{{ Item }}\": {each: [x, y], require: [exec#x]}]")},
	{"an open alias", list("- exec: [{a: {alias: \"{{ Data.x }}\"}}, {b: {require: [exec#x]}}]")},
	{"aliases and duplicates", list("- exec: [{a: {alias: x}}, {a: {require: [exec#a, exec#x], subscribe: [exec#x]}}]")},
	{"open references", list("- exec: [a: {require: [\"exec#{{ Data.x }}\", \"{{ Data.y }}\"]}]")},
	{"an alias of YAML", list("- file:", "  - /a: &a {"+root+"}", "  - /b: *a", "  - /c: {<<: *a, content: c}")},
}

func TestGoodResources(t *testing.T) {
	for _, c := range goodResources {
		t.Run(c.name, func(t *testing.T) {
			_, err := parse(c.manifest)
			require.NoError(t, err)
		})
	}
}

func TestTextsAreAsWritten(t *testing.T) {
	plays, err := parse(list("- file:", "  - /a:", "      mode: 0644", "      owner: yes", "      group: 1.50", "      content: |", "        {{ 1 }}", "          two", "        three"))
	require.NoError(t, err)
	r := plays[0].Resources[0]
	for property, want := range map[string]string{"mode": "0644", "owner": "yes", "group": "1.50", "content": "{{ 1 }}\n  two\nthree\n"} {
		require.Equal(t, want, r.Properties.Node.Get(property).Text)
	}
	require.True(t, r.Properties.HasExpressions())
}

func TestDefaults(t *testing.T) {
	plays, err := parse(list("- file:", "  - /a: {mode: '0600', tags: [a]}", "  - defaults: {"+root+", content: d, alias: x, tags: [d]}", "  - /b:"))
	require.NoError(t, err)
	require.Len(t, plays[0].Resources, 2)
	a, b := plays[0].Resources[0], plays[0].Resources[1]
	require.Equal(t, "0600", a.Properties.Node.Get("mode").Text)
	require.Equal(t, "d", a.Properties.Node.Get("content").Text)
	require.Equal(t, []string{"a"}, a.Tags)
	require.Equal(t, "0644", b.Properties.Node.Get("mode").Text)
	require.Equal(t, []string{"d"}, b.Tags)
	require.Equal(t, "x", b.Alias.Node.Text)
}

func FuzzList(f *testing.F) {
	for _, c := range wrongResources {
		f.Add(c.manifest)
	}
	for _, c := range goodResources {
		f.Add(c.manifest)
	}
	f.Fuzz(func(t *testing.T, text string) {
		plays, err := parse(text)
		if err != nil {
			require.NotEmpty(t, err.Error())
			return
		}
		for _, p := range plays {
			p.Facts(nil)
			p.HostPattern()
			for _, r := range p.Resources {
				require.NotNil(t, r.Name.Node)
				require.NotNil(t, r.Properties.Node)
			}
		}
	})
}
