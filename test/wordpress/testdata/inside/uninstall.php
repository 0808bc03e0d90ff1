<?php
// Deactivates and uninstalls the plugin as WordPress does it.
require __DIR__ . '/load.php';
require_once ABSPATH . 'wp-admin/includes/plugin.php';
deactivate_plugins( 'interlock-bridge/interlock-bridge.php' );
uninstall_plugin( 'interlock-bridge/interlock-bridge.php' );
