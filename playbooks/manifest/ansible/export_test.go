package ansible

// Modules are those that have something in their place here.
var Modules = modules
