<?php
// Stores the settings of the argument, as the settings page would.
require __DIR__ . '/load.php';
require_once ABSPATH . 'wp-admin/includes/template.php';
interlock_bridge_register_settings();
update_option( 'interlock_bridge_settings', json_decode( $argv[1], true ) );
