package manifest

import (
	"slices"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/wire"
	"github.com/ccm-push/ccm-push/playbooks/manifest/keys"
	"github.com/ccm-push/ccm-push/templates"
)

// A Resource is one entry of a manifest. With Each it stands for one resource
// per element.
type Resource struct {
	Type       modules.Type
	Name       Value
	Alias      *Value            // nil if it has none
	Require    *Value            // a list of references, type#name or type#alias; nil if not given
	Subscribe  *Value            // the same
	Before     *Value            // the same, for later resources
	Notify     *Value            // the same
	Meta       *Value            // map of the keys that become a [Meta]; nil if none is set
	Recv       *Value            // a map of properties to what sends them on this host: type#name.key; nil if none is received
	If, Unless []*templates.Expr // expressions of control: all of If, none of Unless
	Each       *Value            // a list; nil if it is a single resource
	Vars       *templates.Source // data that overrides the data around it; nil if it has none
	Noop       *Value            // a boolean
	Sensitive  *Value            // a boolean
	Health     *Value            // a list of health checks; nil if it has none
	Registers  *Value            // list of its registrations once it is stable; nil means none
	On         *Value            // the host where it runs; nil is the one that it is for
	Once       bool              // it runs for one host of a batch
	Query      string            // ad hoc query that replaces check and apply; usually empty
	Tags       []string
	Imports    []Import        // values received from other hosts
	Register   *yamlpos.Node   // the name of its result in expressions: a literal text; nil if it has none
	Exports    []*yamlpos.Node // keys of the values for other hosts: literal texts
	Strict     bool            // properties with defaults that depend on the host must be given
	Unselected bool            // the run is not about it: see [Selection]
	// BeforeStart is set if the resource is before the resource in --start-at.
	BeforeStart bool
	// Refresh defines how a refresh of an unselected resource is handled; empty if nothing can refresh it.
	Refresh    wire.Unselected
	Properties Value         // a map of the type's own properties, without the name
	Defaults   *yamlpos.Node // defaults of its list and play; its properties include some of them; nil means none
	// Child is the manifest that the resource applies; nil if it applies none, or one that is known only per host. See
	// [Play.Nested].
	Child *Play
	// OnlyWithin is set if the resource itself is not selected, only the resources that it applies.
	OnlyWithin bool

	// Block is set if the resource is a block: then Child has the resources in it.
	Block *Block
	// In is the block that contains the resource; nil means none.
	In *Resource

	// Manifest is the name of the manifest that the resource applies, as written: a URL may hold a password. It is
	// empty if it applies nothing.
	Manifest string
	// Conditional is set if the resource is in a manifest that not every host applies.
	Conditional bool
}

// Ref returns the resource's name in the manifest.
func (r *Resource) Ref() string { return r.Type.Name + "#" + r.Name.Node.Text }

// LeftOut reports whether the run has nothing to do with the resource: it is not selected, and cannot be
// refreshed.
func (r *Resource) LeftOut() bool { return r.Unselected && r.Refresh == "" }

// mayRefresh reports whether another resource may refresh this one, or one of the manifest that it applies.
// If anything in the plays has notify, every resource with a refresh may be meant.
func (r *Resource) mayRefresh(notifies bool) bool {
	if r.Unknown() {
		return true
	}
	if r.Child != nil {
		return slices.ContainsFunc(r.Child.Resources, func(one *Resource) bool { return one.Refresh != "" })
	}
	if r.Subscribe == nil && !notifies || r.hidden() {
		return false
	}
	_, ok := r.Type.New().(modules.Refresher)
	return ok
}

// DependsOnHost reports whether the resource's names are known only per host.
func (r *Resource) DependsOnHost() bool {
	return r.Each != nil || r.Name.HasExpressions() || r.Alias != nil && r.Alias.HasExpressions()
}

// Open reports whether n, a scalar of any part of the resource, is an expression.
func (r *Resource) Open(n *yamlpos.Node) bool {
	return slices.ContainsFunc(r.values(), func(v *Value) bool { return v != nil && v.Open(n) })
}

// conditions returns all expressions of control.
func (r *Resource) conditions() []*templates.Expr { return slices.Concat(r.If, r.Unless) }

// values lists the parts that may hold expressions; those not given are nil.
func (r *Resource) values() []*Value {
	return []*Value{&r.Name, r.Alias, r.Require, r.Subscribe, r.Before, r.Notify, r.Meta, r.Recv, r.Each, r.Noop, r.Sensitive, r.Health, r.Registers, r.On, &r.Properties}
}

// An Import is a property that a resource receives from a resource of another host. Host and From are literal texts:
// only the manifest decides which host sends a value to which, so no fact can direct a value to a host that it is not
// meant for.
type Import struct {
	Property string        // property of the receiver
	Host     *yamlpos.Node // the name of the other host in the inventory
	From     *yamlpos.Node // as it is written: "exec#token.stdout"
	Ref      string        // the resource, by name or alias: "exec#token"
	Key      string        // key of the sent value: "stdout"
}

// PropertySet is the properties of the resource, as they are written.
func (r *Resource) PropertySet() PropertySet {
	return PropertySet{Type: r.Type, Name: r.Name.Node, Node: r.Properties.Node, Strict: r.Strict}
}

// ValidateStrict checks the rules of strict plays, in addition to [modules.Resource.Validate].
func (r *Resource) ValidateStrict(res modules.Resource) error { return validateStrict(res, r.Strict) }

func validateStrict(res modules.Resource, strict bool) error {
	if s, ok := res.(modules.Strict); ok && strict {
		return s.ValidateStrict()
	}
	return nil
}

// Positioned turns the property errors of a resource into errors with the
// positions of the properties in props.
func Positioned(r *Resource, props *yamlpos.Node, err error) error {
	return PropertySet{Type: r.Type, Name: r.Name.Node, Node: props}.Place(err)
}

// Unconditional reports whether every host needs what the resource names.
func (r *Resource) Unconditional() bool {
	return len(r.conditions()) == 0 && r.Each == nil && !r.Conditional
}

// NeedsFull reports whether a host of the play needs the full host program for this resource, as far as that is known
// without the host: parts that control or each decide are skipped, and open properties count as not set.
func (r *Resource) NeedsFull() bool {
	if r.Unselected || !r.Unconditional() {
		return false
	}
	if r.Child != nil && slices.ContainsFunc(r.Child.Resources, (*Resource).NeedsFull) {
		return true
	}
	if r.hasRules() {
		return true
	}
	return r.Requirements().FullProgram
}

// Requirements returns the resource's requirements other than its properties, as far as they are known without a host:
// open properties count as not set.
func (r *Resource) Requirements() modules.Requirements {
	res := r.Type.New()
	if _, ok := res.(modules.Requirer); !ok {
		return modules.Requirements{}
	}
	// Decoding errors have been reported.
	_ = yamlpos.Decode(r.Properties.Node, res, yamlpos.Open(r.Properties.Open))
	modules.SetName(res, r.Name.Node.Text)
	modules.SetDefaults(res)
	return modules.RequirementsOf(res)
}

// hidden reports whether the manifest marks the resource as never run.
func (r *Resource) hidden() bool {
	if r.Meta == nil {
		return false
	}
	hidden := r.Meta.Node.Get("hidden")
	return hidden != nil && hidden.Value == true
}

// Watch returns the resource's own watch settings, unresolved; nil means none.
func (r *Resource) Watch() *yamlpos.Node {
	if r.Meta == nil {
		return nil
	}
	return keys.Given(r.Meta.Node.Get("watch"))
}

// hasRules reports whether a health check of the resource is made of rules of
// goss, as far as it is written as one.
func (r *Resource) hasRules() bool {
	return r.Health != nil && slices.ContainsFunc(r.Health.Node.Items, func(n *yamlpos.Node) bool { return keys.Given(n.Get("goss_rules")) != nil })
}
