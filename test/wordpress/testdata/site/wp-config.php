<?php
/**
 * Settings of the site of one test. The test puts what varies into the
 * environment.
 */

define( 'WP_HOME', getenv( 'WORDPRESS_URL' ) );
define( 'WP_SITEURL', WP_HOME );
define( 'WP_CONTENT_DIR', getenv( 'WORDPRESS_ROOT' ) . '/wp-content' );
define( 'WP_CONTENT_URL', WP_HOME . '/wp-content' );

define( 'DB_NAME', 'wordpress' );
define( 'DB_USER', '' );
define( 'DB_PASSWORD', '' );
define( 'DB_HOST', '' );
define( 'DB_CHARSET', 'utf8mb4' );
define( 'DB_COLLATE', '' );
define( 'DB_DIR', WP_CONTENT_DIR . '/database' );
define( 'DB_FILE', '.ht.sqlite' );
$table_prefix = 'wp_';

foreach ( array( 'AUTH', 'SECURE_AUTH', 'LOGGED_IN', 'NONCE' ) as $name ) {
	define( $name . '_KEY', 'a key of the tests: ' . $name );
	define( $name . '_SALT', 'a salt of the tests: ' . $name );
}

// Whatever PHP or WordPress complains about is a failure of the test.
define( 'WP_DEBUG', true );
define( 'WP_DEBUG_DISPLAY', false );
define( 'WP_DEBUG_LOG', getenv( 'WORDPRESS_ROOT' ) . '/debug.log' );
define( 'WP_ENVIRONMENT_TYPE', 'local' );
define( 'SCRIPT_DEBUG', false );

// Nothing but this machine is spoken to.
define( 'WP_HTTP_BLOCK_EXTERNAL', true );
define( 'WP_ACCESSIBLE_HOSTS', '127.0.0.1,localhost' );
define( 'DISABLE_WP_CRON', true );
define( 'AUTOMATIC_UPDATER_DISABLED', true );
define( 'DISALLOW_FILE_MODS', true );

if ( false !== getenv( 'WORDPRESS_KEY_FILE' ) ) {
	define( 'INTERLOCK_KEY_FILE', getenv( 'WORDPRESS_KEY_FILE' ) );
}

if ( ! defined( 'ABSPATH' ) ) {
	exit;
}
require_once ABSPATH . 'wp-settings.php';
