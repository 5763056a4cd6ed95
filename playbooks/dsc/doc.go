// Package dsc reads DSC configuration documents, which describe the desired state of a host as instances of DSC
// resources. Everything that is independent of the host is evaluated when a document is read: parameters, variables,
// user functions and loops. Groups and included documents are flattened, and each instance follows its dependencies.
// Values that depend on the host are sent as expressions; modules/dsc/expr evaluates at both ends.
//
// The package does not run anything: modules/dsc manages an instance on its host, and playbooks/events reports the
// result in dsc's form.
package dsc
